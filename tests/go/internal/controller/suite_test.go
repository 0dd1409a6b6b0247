package controller

import "testing"

func TestControllers(t *testing.T) {}
