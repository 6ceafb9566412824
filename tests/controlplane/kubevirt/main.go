// KubeVirt's virt-api and virt-controller in one executable, and the objects that its operator would
// have made: `kubevirt manifests NAMESPACE` prints them as JSON, one a line.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"kubevirt.io/client-go/log"

	"kubevirt.io/kubevirt/pkg/service"
	virtapi "kubevirt.io/kubevirt/pkg/virt-api"
	"kubevirt.io/kubevirt/pkg/virt-controller/watch"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
)

var definitions = []func() (*extv1.CustomResourceDefinition, error){
	components.NewKubeVirtCrd,
	components.NewVirtualMachineCrd,
	components.NewVirtualMachineInstanceCrd,
	components.NewReplicaSetCrd,
	components.NewPresetCrd,
	components.NewVirtualMachineInstanceMigrationCrd,
	components.NewVirtualMachinePoolCrd,
	components.NewVirtualMachineSnapshotCrd,
	components.NewVirtualMachineSnapshotContentCrd,
	components.NewVirtualMachineRestoreCrd,
	components.NewVirtualMachineExportCrd,
	components.NewVirtualMachineBackupCrd,
	components.NewVirtualMachineBackupTrackerCrd,
	components.NewVirtualMachineCloneCrd,
	components.NewVirtualMachineInstancetypeCrd,
	components.NewVirtualMachineClusterInstancetypeCrd,
	components.NewVirtualMachinePreferenceCrd,
	components.NewVirtualMachineClusterPreferenceCrd,
	components.NewMigrationPolicyCrd,
	components.NewPluginCrd,
}

func main() {
	name, args := filepath.Base(os.Args[0]), os.Args
	if name != "virt-api" && name != "virt-controller" && name != "manifests" && len(args) > 1 {
		args = args[1:]
		name = args[0]
	}
	os.Args = args
	switch name {
	case "virt-api":
		log.InitializeLogging("virt-api")
		app := virtapi.NewVirtApi()
		service.Setup(app)
		app.Execute()
	case "virt-controller":
		watch.Execute()
	case "manifests":
		if len(args) != 2 {
			fail(fmt.Errorf("manifests NAMESPACE"))
		}
		manifests(args[1])
	default:
		fail(fmt.Errorf("name one first: virt-api, virt-controller, manifests"))
	}
}

func manifests(namespace string) {
	for _, definition := range definitions {
		made, err := definition()
		fail(err)
		write(made, schema.GroupVersionKind{
			Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
		})
	}
	objects := []runtime.Object{components.NewKubeVirtPriorityClassCR()}
	objects = append(objects, rbac.GetAllCluster()...)
	objects = append(objects, rbac.GetAllApiServer(namespace)...)
	objects = append(objects, rbac.GetAllController(namespace, true)...)
	objects = append(objects, rbac.GetAllHandler(namespace)...)
	for _, made := range components.NewCAConfigMaps(namespace) {
		objects = append(objects, made)
	}
	objects = append(objects,
		components.NewVirtAPIValidatingWebhookConfiguration(namespace),
		components.NewVirtAPIMutatingWebhookConfiguration(namespace),
	)
	for _, made := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(made)
		fail(err)
		write(made, kinds[0])
	}
	for _, made := range components.NewVirtAPIAPIServices(namespace) {
		write(made, schema.GroupVersionKind{
			Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService",
		})
	}
}

func write(object runtime.Object, kind schema.GroupVersionKind) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(object)
	fail(err)
	fmt.Println(string(text))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
