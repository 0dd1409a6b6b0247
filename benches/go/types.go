package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Bench owns a ConfigMap with its name. Both operators use the CustomResourceDefinition of the operator in Rust, so
// both run on the same objects.
type Bench struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BenchSpec   `json:"spec"`
	Status BenchStatus `json:"status,omitempty"`
}

// BenchSpec is the desired state.
type BenchSpec struct {
	Title string `json:"title"`
}

// BenchStatus is the observed state.
type BenchStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// BenchList is the response of a list request.
type BenchList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Bench `json:"items"`
}

// addToScheme adds the types to the scheme of clients and caches.
func addToScheme(scheme *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypes(version, &Bench{}, &BenchList{})
	for _, kind := range kinds {
		scheme.AddKnownTypes(version, kind.object, kind.list)
	}
	metav1.AddToGroupVersion(scheme, version)
	addBooksToScheme(scheme)
	return nil
}

// controller-gen would generate the following code, in a separate file.

// DeepCopyInto copies in to out.
func (in *Bench) DeepCopyInto(out *Bench) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject implements runtime.Object.
func (in *Bench) DeepCopyObject() runtime.Object {
	out := new(Bench)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies in to out.
func (in *BenchStatus) DeepCopyInto(out *BenchStatus) {
	*out = *in
	if in.Conditions != nil {
		out.Conditions = make([]metav1.Condition, len(in.Conditions))
		for i := range in.Conditions {
			in.Conditions[i].DeepCopyInto(&out.Conditions[i])
		}
	}
}

// DeepCopyObject implements runtime.Object.
func (in *BenchList) DeepCopyObject() runtime.Object {
	out := new(BenchList)
	*out = *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	if in.Items != nil {
		out.Items = make([]Bench, len(in.Items))
		for i := range in.Items {
			in.Items[i].DeepCopyInto(&out.Items[i])
		}
	}
	return out
}
