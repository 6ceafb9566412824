// Package virttemplate is a client that refuses; KubeVirt asks for it only with a feature gate on
// that the tests leave off.
package virttemplate

import (
	"errors"

	"k8s.io/client-go/rest"
)

type Clientset struct{}

type TemplateV1beta1Client struct{}

func NewForConfig(*rest.Config) (*Clientset, error) {
	return nil, errors.New("templates are not part of this build")
}

func (*Clientset) TemplateV1beta1() *TemplateV1beta1Client {
	return &TemplateV1beta1Client{}
}

func (*TemplateV1beta1Client) RESTClient() rest.Interface {
	return nil
}
