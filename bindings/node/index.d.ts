/** Locks by file path, with the interface of proper-lockfile. */
declare function lock(file: string | URL, options?: lock.LockOptions): Promise<lock.Release>;

declare namespace lock {
  /** The functions of `fs` that are used; only the first one without `compat` and proper-lockfile's folders. */
  export interface Fs {
    realpathSync(path: string): string;
    statSync(path: string): { mtimeMs: number };
    mkdirSync(path: string): unknown;
    rmdirSync(path: string): void;
    utimesSync(path: string, atime: number, mtime: number): void;
  }

  export interface RetryOptions {
    retries?: number;
    factor?: number;
    minTimeout?: number;
    maxTimeout?: number;
    randomize?: boolean;
    forever?: boolean;
    maxRetryTime?: number;
  }

  export interface PathOptions {
    /** Follow links; then the file has to exist. Default: true. */
    realpath?: boolean;
    fs?: Fs;
    /** The folder of proper-lockfile. Default: the path and `.lock`. */
    lockfilePath?: string;
  }

  export interface CheckOptions extends PathOptions {
    /** Milliseconds after which a folder of proper-lockfile counts as left behind. Default: 10000, at least 2000. */
    stale?: number;
    /** A lock of a reader. */
    shared?: boolean;
    /** false: without a flock on the file, so that only users of glock with the same option are kept out. */
    interop?: boolean;
    /** The group whose members share a queue. */
    group?: string;
  }

  export interface LockSyncOptions extends CheckOptions {
    /** With `compat`: milliseconds between two updates of the folder. Default and most: half of `stale`. */
    update?: number;
    /** Called if the lock is lost. Default: throws the error. */
    onCompromised?: (error: Error) => void;
    /** Also make the folder of proper-lockfile, which keeps its users out. */
    compat?: boolean;
  }

  export interface LockOptions extends LockSyncOptions {
    /** How long to wait in the queue: as long as proper-lockfile's retries take. Default: 0. */
    retries?: number | number[] | RetryOptions;
    /** Ends the wait. */
    signal?: AbortSignal;
  }

  export interface Release {
    (): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
  }

  export interface ReleaseSync {
    (): void;
    [Symbol.dispose](): void;
  }

  export { lock };
  export function lockSync(file: string | URL, options?: LockSyncOptions): ReleaseSync;
  export function unlock(file: string | URL, options?: PathOptions): Promise<void>;
  export function unlockSync(file: string | URL, options?: PathOptions): void;
  export function check(file: string | URL, options?: CheckOptions): Promise<boolean>;
  export function checkSync(file: string | URL, options?: CheckOptions): boolean;
}

export = lock;
