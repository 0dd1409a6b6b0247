package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoomSpec is what a room has.
type RoomSpec struct {
	// Opens is when the room opens.
	// +optional
	Opens *Hours `json:"opens,omitempty"`

	// +optional
	Seats int32 `json:"seats,omitempty"`

	// +optional
	Tables []Table `json:"tables,omitempty"`
}

// Hours say when a room opens.
type Hours struct {
	At string `json:"at"`

	// +kubebuilder:validation:Enum=Weekday;Sunday
	Day string `json:"day"`
}

// Table is a table of a room.
type Table struct {
	// +optional
	Seats int32 `json:"seats,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:scope=Cluster

// Room is a reading room.
type Room struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RoomSpec `json:"spec,omitempty"`
}

// Hub marks the version that other versions are converted to.
func (*Room) Hub() {}
