package objectstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a [Place] in a bucket.
type bucket struct {
	core         *minio.Core
	name, prefix string        // the prefix has no slash at its end
	partSize     int64         // of the smallest parts
	idle         time.Duration // in which a part must arrive, or the next bytes of a download
}

const (
	partSize  = 16 << 20 // in memory during an upload
	maxParts  = 10_000   // of S3
	idle      = 5 * time.Minute
	maxListed = 100_000
	retries   = 5
)

// openBucket returns a bucket as the environment describes it.
func openBucket(name, prefix string) (*bucket, error) {
	o := &minio.Options{Secure: true, Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION")), MaxRetries: retries, Transport: transport()}
	host := "s3.amazonaws.com"
	for _, variable := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		text := os.Getenv(variable)
		if text == "" {
			continue
		}
		var err error
		if host, o.Secure, err = parseEndpoint(variable, text); err != nil {
			return nil, err
		}
		o.BucketLookup, o.Region = minio.BucketLookupPath, cmp.Or(o.Region, "us-east-1")
		break
	}
	o.Creds = credentials.New(&chain{providers: providers(host)})
	core, err := minio.NewCore(host, o)
	if err != nil {
		return nil, fmt.Errorf("the endpoint %s: %w", host, err)
	}
	return &bucket{core: core, name: name, prefix: prefix, partSize: partSize, idle: idle}, nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: 2 * time.Minute,
		IdleConnTimeout:       time.Minute,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		DisableCompression:    true, // the size of what is read must be that of what was written
	}
}

func (b *bucket) key(name string) string {
	if b.prefix == "" {
		return name
	}
	return b.prefix + "/" + name
}

func (b *bucket) URL(name string) string { return scheme + b.name + "/" + b.key(name) }

// Put sends what fits into a part in one request, and anything longer as a multipart upload, which
// is completed at the end or aborted.
func (b *bucket) Put(ctx context.Context, name string, size int64, fill func(io.Writer) error) error {
	if err := checkName(name); err != nil {
		return err
	}
	u := &upload{b: b, key: b.key(name), buf: make([]byte, 0, max(b.partSize, roundUp(size+size/2, maxParts*b.partSize)/maxParts))}
	u.send = func() error { return u.part(ctx) }
	err := fill(u)
	if err == nil {
		err = u.finish(ctx)
	}
	if err != nil {
		err = errors.Join(b.explain(err), u.abort(ctx))
	}
	return err
}

// roundUp returns n, or the next multiple of unit above it.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// upload is an object on its way.
type upload struct {
	b     *bucket
	key   string
	id    string // of the multipart upload; empty: none has begun
	buf   []byte // the next part
	parts []minio.CompletePart
	send  func() error
}

func (u *upload) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if len(u.buf) == cap(u.buf) {
			if err := u.send(); err != nil {
				return n, err
			}
		}
		m := min(len(p), cap(u.buf)-len(u.buf))
		u.buf = append(u.buf, p[:m]...)
		n, p = n+m, p[m:]
	}
	return n, nil
}

// octets are the options of every upload.
var octets = minio.PutObjectOptions{ContentType: "application/octet-stream"}

// part sends what is in buf. The storage compares it with its SHA-256, which is signed.
func (u *upload) part(ctx context.Context) (err error) {
	if len(u.parts) == maxParts {
		return fmt.Errorf("it is longer than %d parts of %d bytes", maxParts, cap(u.buf))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, u.b.idle, fmt.Errorf("sending %d bytes took longer than %v", len(u.buf), u.b.idle))
	defer cancel()
	if u.id == "" {
		if u.id, err = u.b.core.NewMultipartUpload(ctx, u.b.name, u.key, octets); err != nil {
			return ended(ctx, err)
		}
	}
	sum := sha256.Sum256(u.buf)
	done, err := u.b.core.PutObjectPart(ctx, u.b.name, u.key, u.id, len(u.parts)+1, bytes.NewReader(u.buf), int64(len(u.buf)),
		minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum[:]), DisableContentSha256: true})
	if err != nil {
		return ended(ctx, err)
	}
	u.parts = append(u.parts, minio.CompletePart{PartNumber: done.PartNumber, ETag: done.ETag})
	u.buf = u.buf[:0]
	return nil
}

// finish sends the rest and makes the object visible.
func (u *upload) finish(ctx context.Context) error {
	if u.id != "" {
		if err := u.part(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, u.b.idle, fmt.Errorf("no answer in %v", u.b.idle))
	defer cancel()
	if u.id == "" {
		sum := sha256.Sum256(u.buf)
		o := octets
		o.DisableContentSha256 = true
		_, err := u.b.core.PutObject(ctx, u.b.name, u.key, bytes.NewReader(u.buf), int64(len(u.buf)), "", hex.EncodeToString(sum[:]), o)
		return ended(ctx, err)
	}
	_, err := u.b.core.CompleteMultipartUpload(ctx, u.b.name, u.key, u.id, u.parts, octets)
	return ended(ctx, err)
}

// abort removes the parts of an upload that has failed, also after ctx has ended.
func (u *upload) abort(ctx context.Context) error {
	if u.id == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTime)
	defer cancel()
	err := u.b.core.AbortMultipartUpload(ctx, u.b.name, u.key, u.id)
	if err == nil || minio.ToErrorResponse(err).Code == "NoSuchUpload" {
		return nil
	}
	return fmt.Errorf("its parts are still there, until the same upload is tried again or a lifecycle rule of the bucket removes them: %w", u.b.explain(err))
}

// ended returns the cause for which ctx has ended, or err.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (b *bucket) Stat(ctx context.Context, name string) (Object, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, b.idle, fmt.Errorf("no answer in %v", b.idle))
	defer cancel()
	info, err := b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	if err != nil {
		return Object{}, b.of(name, ended(ctx, err))
	}
	return Object{name, info.LastModified.UTC(), info.Size}, nil
}

// Open reads an object as it is now: if it is replaced meanwhile, reading fails. After a broken
// connection it goes on where it was.
func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, Object, error) {
	info, err := b.core.StatObject(ctx, b.name, b.key(name), minio.StatObjectOptions{})
	if err != nil {
		return nil, Object{}, b.of(name, err)
	}
	if info.Size < 0 {
		return nil, Object{}, fmt.Errorf("%s: the storage does not say how long it is", b.URL(name))
	}
	d := &download{size: info.Size, idle: b.idle}
	d.open = func(at int64) (io.ReadCloser, context.CancelCauseFunc, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		var o minio.GetObjectOptions
		err := o.SetRange(at, info.Size-1)
		if err == nil && info.ETag != "" {
			err = o.SetMatchETag(info.ETag)
		}
		var body io.ReadCloser
		if err == nil {
			late := time.AfterFunc(b.idle, func() { cancel(fmt.Errorf("no answer in %v", b.idle)) })
			body, _, _, err = b.core.GetObject(ctx, b.name, b.key(name), o)
			late.Stop()
			err = ended(ctx, err)
		}
		if err != nil {
			cancel(nil)
			return nil, nil, b.of(name, err)
		}
		return causedBy{body, ctx.Err, func() error { return context.Cause(ctx) }}, cancel, nil
	}
	return d, Object{name, info.LastModified.UTC(), info.Size}, nil
}

// causedBy reports why its context has ended rather than that it has.
type causedBy struct {
	io.ReadCloser
	ended, cause func() error
}

func (c causedBy) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && c.ended() != nil {
		err = c.cause()
	}
	return n, err
}

// download reads an object of a known size.
type download struct {
	open     func(at int64) (io.ReadCloser, context.CancelCauseFunc, error)
	at, size int64
	idle     time.Duration
	body     io.ReadCloser
	cancel   context.CancelCauseFunc
	failures int // since bytes arrived last
}

func (d *download) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for d.at < d.size {
		n, err := d.next(p[:min(int64(len(p)), d.size-d.at)])
		d.at += int64(n)
		if n > 0 {
			d.failures = 0
			return n, nil
		}
		d.Close()
		if d.failures++; d.failures > retries || errors.Is(err, context.Canceled) || errors.Is(err, errGone) {
			return 0, err
		}
	}
	return 0, io.EOF
}

// next reads from the open body, opening it first if there is none.
func (d *download) next(p []byte) (n int, err error) {
	if d.body == nil {
		if d.body, d.cancel, err = d.open(d.at); err != nil {
			d.body = nil
			return 0, err
		}
	}
	late := time.AfterFunc(d.idle, func() { d.cancel(fmt.Errorf("nothing arrived for %v", d.idle)) })
	defer late.Stop()
	if n, err = d.body.Read(p); err == io.EOF || n == 0 && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (d *download) Close() error {
	if d.body == nil {
		return nil
	}
	d.cancel(nil)
	err := d.body.Close()
	d.body = nil
	return err
}

func (b *bucket) List(ctx context.Context) ([]Object, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the lister if this returns early
	defer cancel()
	list, prefix := []Object{}, b.key("")
	for o := range b.core.Client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix}) {
		if o.Err != nil {
			return nil, b.explain(o.Err)
		}
		if name, ok := strings.CutPrefix(o.Key, prefix); ok && checkName(name) == nil {
			list = append(list, Object{name, o.LastModified.UTC(), o.Size})
		}
		if len(list) > maxListed {
			return nil, fmt.Errorf("%s has more than %d objects", b.URL(""), maxListed)
		}
	}
	slices.SortFunc(list, func(a, b Object) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func (b *bucket) Remove(ctx context.Context, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return b.of(name, b.core.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
}

func (b *bucket) RemoveUnfinished(ctx context.Context, match func(string) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var found []minio.ObjectMultipartInfo
	for u := range b.core.ListIncompleteUploads(ctx, b.name, b.key(""), true) {
		if u.Err != nil {
			return b.explain(u.Err)
		}
		if name, ok := strings.CutPrefix(u.Key, b.key("")); ok && match(name) && len(found) < maxListed {
			found = append(found, u)
		}
	}
	for _, u := range found {
		if err := b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID); err != nil && minio.ToErrorResponse(err).Code != "NoSuchUpload" {
			return b.explain(err)
		}
	}
	return nil
}

// errGone is the error of reading an object that was removed or replaced meanwhile.
var errGone = errors.New("it was replaced or removed while it was read")

// of explains an error of a request for an object.
func (b *bucket) of(name string, err error) error {
	if err == nil {
		return nil
	}
	switch e := minio.ToErrorResponse(err); {
	case e.Code == "NoSuchKey" || e.StatusCode == http.StatusNotFound && e.Code != "NoSuchBucket":
		return fmt.Errorf("%s: %w", b.URL(name), ErrNotFound)
	case e.StatusCode == http.StatusPreconditionFailed:
		return fmt.Errorf("%s: %w", b.URL(name), errGone)
	}
	return b.explain(err)
}

// explain adds what to do to an error of the storage that lacks it.
func (b *bucket) explain(err error) error {
	e := minio.ToErrorResponse(err)
	at := b.core.EndpointURL().Host
	hint := ""
	switch e.Code {
	case "NoSuchBucket":
		return fmt.Errorf("the bucket %q does not exist at %s", b.name, at)
	case "RequestTimeTooSkewed":
		return fmt.Errorf("%s refuses the request because the clock of this machine is wrong: it is %s here; set it, for example with NTP", at, time.Now().UTC().Format(time.RFC3339))
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "InvalidClientTokenId":
		hint = "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN"
	case "AccessDenied":
		hint = fmt.Sprintf("the credentials need s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload on %s* and s3:ListBucket, s3:ListBucketMultipartUploads on the bucket", b.URL(""))
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException":
		hint = "set AWS_REGION to the region of the bucket"
		if e.Region != "" {
			hint += ", " + e.Region
		}
	case "":
		return err
	}
	text := fmt.Sprintf("%s answers %s", at, e.Code)
	if e.Message != "" && len(e.Message) < 500 {
		text += fmt.Sprintf(" (%s)", strings.TrimRight(e.Message, ". "))
	}
	if hint != "" {
		text += "; " + hint
	}
	return errors.New(text)
}
