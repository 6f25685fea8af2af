package objectstore

import (
	"errors"
	"os"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// chain asks its providers in turn, as the AWS tools do. Where none has credentials it returns an
// error: without one, requests would go out unsigned and the storage's answer would be of no help.
type chain struct {
	providers []credentials.Provider
	current   credentials.Provider
}

var errNoCredentials = errors.New("there are no credentials for the storage: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")

// providers returns the environment, the files of the AWS tools and, where the environment or an
// endpoint of AWS says that there is one, the role of the machine or container.
func providers(host string) []credentials.Provider {
	out := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	role := strings.HasSuffix(host, ".amazonaws.com") && !strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true")
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"} {
		role = role || os.Getenv(name) != ""
	}
	if role {
		out = append(out, &credentials.IAM{})
	}
	return out
}

func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	for _, p := range c.providers {
		if v, err := p.RetrieveWithCredContext(cc); err == nil && v.AccessKeyID != "" && v.SecretAccessKey != "" {
			c.current = p
			return v, nil
		}
	}
	return credentials.Value{}, errNoCredentials
}

func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

func (c *chain) IsExpired() bool { return c.current == nil || c.current.IsExpired() }
