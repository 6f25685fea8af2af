package pdf

import "os"

// selfArgument, as the first argument, makes a program that calls [AsChild] the child that reads one PDF.
const selfArgument = "--read-pdf-from-stdin"

// Self returns the command that starts this program as the child of a [Reader]; its main must begin with [AsChild].
func Self() []string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	return []string{exe, selfArgument}
}

// AsChild reads one PDF if the program was started by [Self], and returns the code with which the program is to end then.
func AsChild() (code int, child bool) {
	if len(os.Args) < 2 || os.Args[1] != selfArgument {
		return 0, false
	}
	return Child(os.Args[2:], os.Stdin, os.Stdout), true
}
