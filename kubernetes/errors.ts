/**
 * Longest message of a refusal, in characters. Policies may answer with anything, and hundreds of answers together must
 * fit into one result of an activity.
 */
const MESSAGE_LENGTH = 1_024;

/**
 * The API server's answer if it did not do what was asked; `reason` and `message` are those of its Status object, a
 * long message cut.
 */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly status: number;
  readonly reason: string;
  /** How long the server asked us to wait, in milliseconds; from `Retry-After`, within limits. */
  readonly retryAfterMs: number | undefined;
  /** URL that was asked for. */
  readonly url: string | undefined;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number, url?: string) {
    super(cut(message));
    this.status = status;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
    this.url = url;
  }
}

/**
 * Why an act on an object is refused by other than the API server: `Conflict` if another look may find that it is not,
 * otherwise it would hardly be accepted next time either.
 */
type RefusedReason = 'Conflict' | 'DiskHeld' | 'FailedDependency' | 'Invalid' | 'NamespaceLeft' | 'ReferenceMissing';

/** drover or KubeVirt refuses to act on an object. Counts as a refusal of the API server does. */
export class ActRefused extends Error {
  override readonly name = 'ActRefused';
  readonly reason: RefusedReason;

  constructor(reason: RefusedReason, message: string) {
    super(cut(message));
    this.reason = reason;
  }
}

const cut = (message: string): string =>
  message.length <= MESSAGE_LENGTH ? message : `${message.slice(0, MESSAGE_LENGTH - 1)}…`;

/**
 * No answer: the server is down, the connection broke, or the deadline passed. The request may have been carried out.
 */
export class KubeUnreachable extends Error {
  override readonly name = 'KubeUnreachable';
}

const hasStatus = (error: unknown, status: number): error is KubeError =>
  error instanceof KubeError && error.status === status;

export const isNotFound = (error: unknown): error is KubeError => hasStatus(error, 404);
export const isAlreadyExists = (error: unknown): error is KubeError =>
  hasStatus(error, 409) && error.reason === 'AlreadyExists';
export const isConflict = (error: unknown): error is KubeError | ActRefused =>
  error instanceof ActRefused ? error.reason === 'Conflict' : hasStatus(error, 409) && error.reason !== 'AlreadyExists';
export const isGone = (error: unknown): error is KubeError => hasStatus(error, 410);

const ignoring =
  (isIgnored: (error: unknown) => boolean) =>
  <T>(call: Promise<T>): Promise<T | undefined> =>
    call.catch((error: unknown) => {
      if (isIgnored(error)) return undefined;
      throw error;
    });

/** Resolves to the result of the call; to undefined if the object does not exist. */
export const ignoreNotFound = ignoring(isNotFound);

/** Resolves to undefined if there is an object of that name. */
export const ignoreAlreadyExists = ignoring(isAlreadyExists);

// A patch that names another UID is refused as a change of the UID.
const isOfAnother = (error: unknown): boolean => hasStatus(error, 422) && /metadata[./]uid/.test(error.message);

/** Resolves to undefined if the object is deleted, replaced or changed: the caller must look at it again. */
export const ignoreStale = ignoring((error) => isNotFound(error) || isConflict(error) || isOfAnother(error));

/** Resolves to undefined if the user may not do this. */
export const ignoreForbidden = ignoring((error) => hasStatus(error, 403));

/** Resolves to undefined if the user may not see it, or there is no such thing. */
export const ignoreUnseen = ignoring((error) => hasStatus(error, 403) || isNotFound(error));

/** Resolves to undefined whatever the API server refuses it for. Throws if it does not answer. */
export const ignoreKubeError = ignoring((error) => error instanceof KubeError);

/**
 * Reports whether this object was refused and would hardly be accepted next time. A webhook may refuse with any code,
 * even 500; a webhook that could not be called has not refused.
 */
export const isRefusal = (error: unknown): error is KubeError | ActRefused =>
  error instanceof ActRefused ||
  (error instanceof KubeError && (!isTransient(error) || error.message.startsWith('admission webhook')));

/** Reports whether the same call may succeed later: the server was down, busy or broken. */
export function isTransient(error: unknown): boolean {
  if (error instanceof KubeUnreachable) return true;
  return error instanceof KubeError && (error.status === 429 || error.status === 408 || error.status >= 500);
}

/**
 * Reports whether the answer says that nothing was done: it was refused, put off, or a webhook could not be called. Any
 * other error says nothing of what the API server has done.
 */
export const isNotDone = (error: unknown): boolean =>
  isRefusal(error) || (error instanceof KubeError && (error.status === 429 || NO_WEBHOOK.test(error.message)));

/** The API server's words for a webhook that it could not call, and without which it does nothing. */
const NO_WEBHOOK = /^Internal error occurred: failed calling webhook /;

/** Reports whether the refusal may concern this object alone; a full quota concerns all. */
export const isRefusalOfOne = (error: unknown): error is KubeError | ActRefused =>
  isRefusal(error) && !error.message.includes('exceeded quota');

/** Why a request had no answer, in a few words. */
export function faultOf(error: unknown): string {
  const { message, code } = error as Error & { code?: string };
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER') return 'what answers there does not speak TLS';
  return message.trim() === '' ? (code ?? 'no answer') : message.trim();
}
