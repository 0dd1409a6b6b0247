package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BookSpec is what a reader wants to know of a book.
type BookSpec struct {
	// The title as on the cover.
	// +kubebuilder:validation:MinLength=1
	Title string `json:"title"`
	// +kubebuilder:validation:Minimum=1
	// +optional
	Pages *int32 `json:"pages,omitempty"`
}

// BookStatus is what the library knows of a book.
type BookStatus struct {
	// +optional
	Shelves []string `json:"shelves,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status

// Book is a book of the library.
type Book struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BookSpec   `json:"spec"`
	Status BookStatus `json:"status,omitempty"`
}
