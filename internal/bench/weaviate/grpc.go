package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"

	"google.golang.org/protobuf/encoding/protowire"
)

// What Weaviate's grpc/proto/v1 of 1.35 calls the fields that are used here.
const (
	requestCollection, requestProperties, requestMetadata, requestLimit, requestHybrid, requestNear, request127 = 1, 20, 21, 30, 41, 43, 102

	hybridQuery, hybridProperties, hybridAlpha, hybridFusion, hybridVector, nearVector = 1, 2, 4, 5, 6, 4

	propertiesNames, metadataID, metadataScore, relativeScore = 1, 1, 7, 2

	replyResults, resultProperties, propertiesOwn, ownFields, fieldName, fieldValue, valueText = 2, 1, 11, 1, 1, 2, 13
)

// plainHTTP2 speaks HTTP/2 without TLS, as gRPC does.
var plainHTTP2 = func() *http.Client {
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: &p}}
}()

// call sends one message to a method and returns the message that is answered.
func call(ctx context.Context, url string, message []byte) ([]byte, error) {
	frame := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(frame))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	res, err := plainHTTP2.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	status, text := res.Trailer.Get("Grpc-Status"), res.Trailer.Get("Grpc-Message")
	if status == "" {
		status, text = res.Header.Get("Grpc-Status"), res.Header.Get("Grpc-Message")
	}
	if res.StatusCode != http.StatusOK || status != "0" || len(b) < 5 {
		return nil, fmt.Errorf("weaviate: %s, gRPC status %s: %s", res.Status, status, text)
	}
	return b[5:], nil
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func number(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

// floats are little-endian.
func floats(v []float32) []byte {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// request asks for documents of a collection with one kind of search.
func request(kind protowire.Number, search []byte) []byte {
	b := text(nil, requestCollection, "Doc")
	b = message(b, requestProperties, text(text(nil, propertiesNames, "docid"), propertiesNames, "text"))
	b = message(b, requestMetadata, number(number(nil, metadataID, 1), metadataScore, 1))
	b = number(b, requestLimit, hits)
	b = message(b, kind, search)
	return number(b, request127, 1)
}

func hybridSearch(q query) []byte {
	b := text(text(nil, hybridQuery, q.text), hybridProperties, "text")
	b = protowire.AppendFixed32(protowire.AppendTag(b, hybridAlpha, protowire.Fixed32Type), math.Float32bits(alpha))
	b = number(b, hybridFusion, relativeScore)
	return message(b, hybridVector, floats(q.vector))
}

var errReply = errors.New("weaviate: the reply is no message")

// each calls f with the messages of a field.
func each(b []byte, field protowire.Number, f func([]byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errReply
		}
		b = b[n:]
		if num == field && typ == protowire.BytesType {
			m, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return errReply
			}
			if err := f(m); err != nil {
				return err
			}
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return errReply
		}
		b = b[n:]
	}
	return nil
}

// idsOf reads the documents' ids out of a reply.
func idsOf(reply []byte) (ids []string, err error) {
	err = each(reply, replyResults, func(result []byte) error {
		return each(result, resultProperties, func(properties []byte) error {
			return each(properties, propertiesOwn, func(own []byte) error {
				return each(own, ownFields, func(entry []byte) error {
					name := ""
					if err := each(entry, fieldName, func(b []byte) error { name = string(b); return nil }); err != nil || name != "docid" {
						return err
					}
					return each(entry, fieldValue, func(value []byte) error {
						return each(value, valueText, func(b []byte) error { ids = append(ids, string(b)); return nil })
					})
				})
			})
		})
	})
	return ids, err
}
