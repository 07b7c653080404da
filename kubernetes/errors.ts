/**
 * What the API server answered when it did not do what was asked; `reason` and `message` are its Status object's own.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  /** How long the server asked us to wait, in milliseconds; from `Retry-After`. */
  readonly retryAfterMs: number | undefined;
  /** URL of the server that has answered so. */
  readonly server: string | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number, server?: string) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.server = server;
  }
}

/** No answer: the server is away, the connection broke, or the deadline passed. What was asked may have been done. */
export class KubeUnreachable extends Error {
  override readonly name = 'KubeUnreachable';
}

const hasStatus = (error: unknown, status: number): error is KubeError =>
  error instanceof KubeError && error.status === status;

export const isNotFound = (error: unknown): error is KubeError => hasStatus(error, 404);
export const isAlreadyExists = (error: unknown): error is KubeError =>
  hasStatus(error, 409) && error.reason === 'AlreadyExists';
export const isConflict = (error: unknown): error is KubeError =>
  hasStatus(error, 409) && error.reason !== 'AlreadyExists';
export const isGone = (error: unknown): error is KubeError => hasStatus(error, 410);

/** What the call brings; undefined where the object is not there. */
export const ignoreNotFound = <T>(call: Promise<T>): Promise<T | undefined> =>
  call.catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });

/**
 * True for a no that is meant for this object, and will hardly be another next time. A webhook may give it any code,
 * 500 among them; one that could not be asked is no refusal.
 */
export const isRefusal = (error: unknown): error is KubeError =>
  error instanceof KubeError && (!isTransient(error) || error.message.startsWith('admission webhook'));

/** True where the same call may well succeed later: the server was away, busy or broken. */
export function isTransient(error: unknown): boolean {
  if (error instanceof KubeUnreachable) return true;
  return error instanceof KubeError && (error.status === 429 || error.status === 408 || error.status >= 500);
}

/** True for a no that may be meant for this object alone; a quota is one of all. */
export const isRefusalOfOne = (error: unknown): error is KubeError =>
  error instanceof KubeError && !isTransient(error) && !error.message.includes('exceeded quota');
