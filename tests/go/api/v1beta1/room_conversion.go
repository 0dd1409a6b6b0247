package v1beta1

import (
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "example.com/me/library/api/v1"
)

// ConvertTo makes a v1 of the room.
func (src *Room) ConvertTo(hub conversion.Hub) error {
	dst := hub.(*v1.Room)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Seats = src.Spec.Chairs
	dst.Spec.Opens = &v1.Hours{At: src.Spec.Opens.At, Day: src.Spec.Opens.Day}
	return nil
}

// ConvertFrom makes the room of a v1.
func (dst *Room) ConvertFrom(hub conversion.Hub) error {
	src := hub.(*v1.Room)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Chairs = src.Spec.Seats
	if src.Spec.Opens != nil {
		dst.Spec.Opens = Hours{At: src.Spec.Opens.At, Day: src.Spec.Opens.Day}
	}
	return nil
}
