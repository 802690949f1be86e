# One image for webhook, controller, CLI and agent: `npm run build:image`, or any builder with multi-stage support.
# BUILD_BASE needs Node.js and npm. BASE needs only glibc and libstdc++; a distroless image for C++ programs works, too.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=debian:12-slim

# Runs on the builder's own architecture: everything for another one is cross-built or fetched.
FROM --platform=$BUILDPLATFORM ${BUILD_BASE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Only the install scripts of these three, and not our own "prepare", which needs the sources.
RUN npm ci --ignore-scripts && npm rebuild esbuild bun node
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY agent agent
COPY controller controller
ARG TARGETARCH
RUN npm run image-root -- --arch "$TARGETARCH"

# Explicit, for builders that would use the platform of the build stage.
FROM --platform=$TARGETPLATFORM ${BASE}
# Least-changing layers first, one each, so that an upgrade of reprise does not pull Node.js again.
COPY --from=build /build/dist/image/node /usr/local/bin/node
COPY --from=build /build/dist/image/reprise-agent /usr/local/bin/reprise-agent
COPY --from=build /build/dist/image/lib /usr/local/lib/reprise
# Numeric, so that the kubelet can check runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/node", "/usr/local/lib/reprise/reprise.js"]
