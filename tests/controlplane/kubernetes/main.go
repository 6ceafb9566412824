// One executable for the whole Kubernetes side of the tests: etcd, the API server, the scheduler,
// the controller manager and kubectl. It is what it is called by, or what its first argument says.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
)

func server(command func() *cobra.Command) func([]string) {
	return func([]string) { os.Exit(cli.Run(command())) }
}

var components = map[string]func([]string){
	"etcd":                    func(args []string) { etcdmain.Main(args) },
	"kube-apiserver":          server(apiserver.NewAPIServerCommand),
	"kube-controller-manager": server(controllers.NewControllerManagerCommand),
	"kube-scheduler":          server(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl": func([]string) {
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
}

func main() {
	args := slices.Clone(os.Args)
	args[0] = filepath.Base(args[0])
	run, found := components[args[0]]
	if !found && len(args) > 1 {
		args = args[1:]
		run, found = components[args[0]]
	}
	if !found {
		names := slices.Sorted(maps.Keys(components))
		fmt.Fprintf(os.Stderr, "name a component first: %s\n", strings.Join(names, ", "))
		os.Exit(64)
	}
	os.Args = args
	run(args)
}
