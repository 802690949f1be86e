# One image for the webhook, the controller, the CLI and the agent. Give BUILD_BASE and BASE to build from mirrors.
ARG BUILD_BASE=node:24-bookworm-slim
ARG BASE=node:24-bookworm-slim

FROM ${BUILD_BASE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts && npm rebuild esbuild bun node
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY agent agent
COPY controller controller
RUN npm run build && npm run build:agent

FROM ${BASE}
COPY --from=build /build/dist/reprise.js /usr/local/lib/reprise/
COPY --from=build /build/dist/chunks /usr/local/lib/reprise/chunks
COPY --from=build /build/dist/agent/*/reprise-agent /usr/local/bin/reprise-agent
# A number, so that runAsNonRoot can be checked by the kubelet.
USER 65532:65532
ENTRYPOINT ["node", "/usr/local/lib/reprise/reprise.js"]
