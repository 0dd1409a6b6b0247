package controller

func labels() map[string]string {
	return map[string]string{"library": "main"}
}
