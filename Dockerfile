# One image for the webhook, the controller, the CLI and the agent: `npm run build:image`, or any builder that knows stages.
# BUILD_BASE needs Node.js and npm; BASE needs glibc and libstdc++, and nothing else: a distroless image for C++ programs serves as well.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=debian:12-slim

# Runs on the builder's own architecture: everything for the other one is cross-built or fetched.
FROM --platform=$BUILDPLATFORM ${BUILD_BASE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
# Scripts of these three only, and not our own "prepare", which needs the sources.
RUN npm ci --ignore-scripts && npm rebuild esbuild bun node
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY agent agent
COPY controller controller
ARG TARGETARCH
RUN npm run image-root -- --arch "$TARGETARCH"

# Said again for builders that would take the build stage's.
FROM --platform=$TARGETPLATFORM ${BASE}
# What changes least comes first. A layer for each, so that an upgrade of reprise does not pull Node.js again.
COPY --from=build /build/dist/image/node /usr/local/bin/node
COPY --from=build /build/dist/image/reprise-agent /usr/local/bin/reprise-agent
COPY --from=build /build/dist/image/lib /usr/local/lib/reprise
# A number, so that the kubelet can check runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/node", "/usr/local/lib/reprise/reprise.js"]
