// Package v1beta1 has the few types of templates that KubeVirt's export controller names. They are
// used only with a feature gate that the tests leave off.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const ConditionReady = "Ready"

type Parameter struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

type VirtualMachineTemplateSpec struct {
	VirtualMachine *runtime.RawExtension `json:"virtualMachine,omitempty"`
	Parameters     []Parameter           `json:"parameters,omitempty"`
}

type VirtualMachineTemplateStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type VirtualMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   VirtualMachineTemplateSpec   `json:"spec,omitempty"`
	Status VirtualMachineTemplateStatus `json:"status,omitempty"`
}

func (t *VirtualMachineTemplate) DeepCopy() *VirtualMachineTemplate {
	if t == nil {
		return nil
	}
	made := &VirtualMachineTemplate{TypeMeta: t.TypeMeta}
	t.ObjectMeta.DeepCopyInto(&made.ObjectMeta)
	made.Spec.VirtualMachine = t.Spec.VirtualMachine.DeepCopy()
	made.Spec.Parameters = append([]Parameter(nil), t.Spec.Parameters...)
	for _, condition := range t.Status.Conditions {
		made.Status.Conditions = append(made.Status.Conditions, *condition.DeepCopy())
	}
	return made
}

func (t *VirtualMachineTemplate) DeepCopyObject() runtime.Object {
	return t.DeepCopy()
}
