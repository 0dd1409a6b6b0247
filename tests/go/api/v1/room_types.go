package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoomSpec is what a room has.
type RoomSpec struct {
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
