// The part of bun's API that the agent uses. It keeps the agent small: with node:https it needs a third more memory and
// four times the CPU time to start (docs/performance.md).
declare module "bun" {
  export interface Socket<Data> {
    data: Data;
    /** Returns how many bytes the kernel accepted. Send the rest on the next `drain`. */
    write(bytes: string | Uint8Array): number;
    /** Sends the last bytes and closes. */
    end(bytes?: string): number;
    /** Closes at once. */
    terminate(): void;
    /** Seconds of inactivity until `timeout` is called; 0 disables it. */
    timeout(seconds: number): void;
    /** TLS only. */
    getSession(): Uint8Array | undefined;
    /** TLS only, in `open`. */
    setSession(session: Uint8Array): void;
    setKeepAlive(enable: boolean, initialDelayMs: number): boolean;
  }

  export interface SocketHandler<Data> {
    open?(socket: Socket<Data>): void;
    data(socket: Socket<Data>, piece: Uint8Array): void;
    drain?(socket: Socket<Data>): void;
    close?(socket: Socket<Data>): void;
    error?(socket: Socket<Data>, error: Error): void;
    timeout?(socket: Socket<Data>): void;
    /** TLS only. Whether chain and host name are valid; bun leaves the connection open if they are not. */
    handshake?(socket: Socket<Data>, isGood: boolean, error: Error | null): void;
    connectError?(socket: Socket<Data>, error: Error): void;
  }

  export function file(path: string): {
    text(): Promise<string>;
    slice(from: number, to: number): { text(): Promise<string> };
    exists(): Promise<boolean>;
    stat(): Promise<{
      readonly mode: number;
      readonly size: number;
      readonly ino: number;
      readonly mtimeMs: number;
    }>;
    /** 0 if there is no such file. */
    readonly size: number;
    delete(): Promise<void>;
  };

  export function write(path: string, text: string): Promise<number>;

  type Place = { readonly hostname: string; readonly port: number } | { readonly unix: string };

  /** Throws when the address is in use. */
  export function listen<Data>(options: Place & { readonly socket: SocketHandler<Data> }): {
    stop(force?: boolean): void;
  };

  export function connect<Data>(
    options: Place & {
      readonly data?: Data;
      readonly tls?: { readonly ca: string; readonly rejectUnauthorized: true };
      readonly socket: SocketHandler<Data>;
    },
  ): Promise<Socket<Data>>;
}
