package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoomSpec is what a room has.
type RoomSpec struct {
	// +optional
	Chairs int32 `json:"chairs,omitempty"`

	// Opens is when the room opens.
	Opens Hours `json:"opens"`

	// +optional
	Tables []Table `json:"tables,omitempty"`
}

// Hours say when a room opens.
type Hours struct {
	At string `json:"at"`

	// +kubebuilder:validation:Enum=Weekday;Holiday
	Day string `json:"day"`
}

// Table is a table of a room.
type Table struct {
	Round bool `json:"round"`

	// +optional
	Seats int32 `json:"seats,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster

// Room is a reading room.
type Room struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RoomSpec `json:"spec,omitempty"`
}
