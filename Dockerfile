# Both programs in an image without a shell, run by a user without rights. The data folder is a volume:
#
#	docker build -t searchd .
#	docker run --rm -v searchd:/data -v "$PWD/notes:/notes:ro" --entrypoint /bin/ingest searchd /notes
#	docker run -d -p 127.0.0.1:8080:8080 -v searchd:/data -e SEARCHD_ADMIN_KEY searchd
#
# The container's address is not loopback, so the server wants an API key: SEARCHD_ADMIN_KEY, or one made with
# `docker run --rm -v searchd:/data searchd keys create --name root --scopes all`.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /out/bin/ ./cmd/... && mkdir -p /out/data

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/bin/ /bin/
COPY --from=build --chown=nonroot:nonroot /out/data /data
ENV SEARCHD_DATA=/data SEARCHD_ADDR=0.0.0.0:8080 SEARCHD_LOG_FORMAT=json
VOLUME /data
EXPOSE 8080
USER nonroot
HEALTHCHECK --interval=15s --timeout=5s --start-period=30s CMD ["/bin/searchd", "health"]
ENTRYPOINT ["/bin/searchd"]
CMD ["serve"]
