package main

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// Book is version v1, which is stored. The other version is v1alpha1.
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

// OldBookSpec is the desired state. One field has another name than in v1, and v1 has two fields for another one.
type OldBookSpec struct {
	Name   string `json:"name"`
	Author string `json:"author"`
}

// Hub marks v1 as the hub: other versions are converted to and from v1.
func (*Book) Hub() {}

// ConvertTo converts from v1alpha1 to v1.
func (old *OldBook) ConvertTo(hub conversion.Hub) error {
	book := hub.(*Book)
	book.ObjectMeta = old.ObjectMeta
	first, last, _ := strings.Cut(old.Spec.Author, " ")
	book.Spec = BookSpec{Title: old.Spec.Name, First: first, Last: last}
	book.Status = old.Status
	return nil
}

// ConvertFrom converts from v1 to v1alpha1.
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

// addBooksToScheme adds both versions to the scheme of the conversion.
func addBooksToScheme(scheme *runtime.Scheme) {
	group := schema.GroupVersion{Group: "bench.example.com", Version: "v1"}
	scheme.AddKnownTypeWithName(group.WithKind("Book"), &Book{})
	group.Version = "v1alpha1"
	scheme.AddKnownTypeWithName(group.WithKind("Book"), &OldBook{})
	metav1.AddToGroupVersion(scheme, group)
}

// controller-gen would generate the following code, in a separate file.

// DeepCopyInto copies in to out.
func (in *Book) DeepCopyInto(out *Book) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject implements runtime.Object.
func (in *Book) DeepCopyObject() runtime.Object {
	out := new(Book)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies in to out.
func (in *OldBook) DeepCopyInto(out *OldBook) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyObject implements runtime.Object.
func (in *OldBook) DeepCopyObject() runtime.Object {
	out := new(OldBook)
	in.DeepCopyInto(out)
	return out
}

// DeepCopyInto copies in to out.
func (in *BookStatus) DeepCopyInto(out *BookStatus) {
	*out = *in
	if in.Copies != nil {
		out.Copies = new(int32)
		*out.Copies = *in.Copies
	}
}
