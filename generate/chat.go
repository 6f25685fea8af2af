package generate

import "io/fs"

type chatTemplate struct{}

func readChatTemplate(fs.FS) (*chatTemplate, error) { return nil, nil }
