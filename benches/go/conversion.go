package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// Book has two versions. This one, v1, is stored.
type Book struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BookSpec   `json:"spec"`
	Status BookStatus `json:"status,omitzero"`
}

// BookSpec is the desired state.
type BookSpec struct {
	Title string `json:"title"`
	First string `json:"first"`
	Last  string `json:"last"`
}

// BookStatus is the observed state, in both versions.
type BookStatus struct {
	Copies *int32 `json:"copies,omitempty"`
}

// OldBook is version v1alpha1.
type OldBook struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   OldBookSpec `json:"spec"`
	Status BookStatus  `json:"status,omitzero"`
}

// OldBookSpec is the desired state: a field has another name, and one is two in the other version.
type OldBookSpec struct {
	Name   string `json:"name"`
	Author string `json:"author"`
}

// Hub makes v1 the version that others are converted to and from.
func (*Book) Hub() {}

// ConvertTo makes a v1 of a v1alpha1.
func (old *OldBook) ConvertTo(hub conversion.Hub) error {
	book := hub.(*Book)
	book.ObjectMeta = old.ObjectMeta
	first, last, _ := strings.Cut(old.Spec.Author, " ")
	book.Spec = BookSpec{Title: old.Spec.Name, First: first, Last: last}
	book.Status = old.Status
	return nil
}

// ConvertFrom makes a v1alpha1 of a v1.
func (old *OldBook) ConvertFrom(hub conversion.Hub) error {
	book := hub.(*Book)
	old.ObjectMeta = book.ObjectMeta
	old.Spec = OldBookSpec{Name: book.Spec.Title, Author: strings.TrimSpace(book.Spec.First + " " + book.Spec.Last)}
	old.Status = book.Status
	return nil
}

func setupConversion(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &Book{}).Complete()
}

// addBooksToScheme makes both versions known to the conversion.
func addBooksToScheme(scheme *runtime.Scheme) {
	group := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypeWithName(group.WithKind("Book"), &Book{})
	group.Version = "v1alpha1"
	scheme.AddKnownTypeWithName(group.WithKind("Book"), &OldBook{})
	metav1.AddToGroupVersion(scheme, group)
}

// What follows is what controller-gen would write into a file of its own.

// DeepCopyInto copies everything that in refers to.
func (in *Book) DeepCopyInto(out *Book) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject makes Book a runtime.Object.
func (in *Book) DeepCopyObject() runtime.Object {
	out := new(Book)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies everything that in refers to.
func (in *OldBook) DeepCopyInto(out *OldBook) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject makes OldBook a runtime.Object.
func (in *OldBook) DeepCopyObject() runtime.Object {
	out := new(OldBook)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies everything that in refers to.
func (in *BookStatus) DeepCopyInto(out *BookStatus) {
	*out = *in
	if in.Copies != nil {
		out.Copies = new(int32)
		*out.Copies = *in.Copies
	}
}
