import { CAPS } from '../../api/lib/caps.ts';
import type { HandledRequest } from '../../api/pool/pool.ts';
import { parsedObject } from '../lib/json.ts';
import { Unreadable, type Reader } from '../lib/payload-reader.ts';
import { hashOf } from '../template/revision.ts';
import type { StoredPool } from '../views/pool.ts';

/** The annotations of a request: what is asked for, in JSON, and who asks. */
export interface RequestNames {
  request: string;
  requestedBy: string;
}

/** A request as it stands on an object. */
export interface FoundRequest {
  /** Hash of its text. */
  digest: string;
  /** Empty if it can't be read; so is `action`. */
  id: string;
  action: string;
  by: string;
  reason?: string;
  /** Names of the VMs in its scope. */
  vms?: string[];
}

/** A request that can be read, or why it can't. */
export type ReadRequest<Asked extends object> = FoundRequest & ({ body: Asked } | { fault: string });

/** What requests of all kinds may have, once they are read. */
interface Readable {
  action: string;
  vms?: string[];
}

export type Answer = Pick<HandledRequest, 'outcome' | 'message'>;

export type Annotations = Readonly<Record<string, string>>;

/** Limits of the status. A request among the answers that it keeps is not handled again. */
const BY_LENGTH = 256;
const REASON_LENGTH = 1024;
const MESSAGE_LENGTH = 1024;
const TEXT_LENGTH = 65_536;
const ID = /^[A-Za-z0-9][-A-Za-z0-9_.:@]{0,62}$/;
/** Fields that every request may have. */
const OF_ALL = ['id', 'action', 'reason'];

/** Whether drover has not looked at the pool before: what its manifest asks for was meant for an earlier one. */
export const isNewPool = ({ status }: Pick<StoredPool, 'status'>): boolean => status?.rollout === undefined;
export const NEW_POOL =
  'the pool is new, and a request that it was created with was meant for an earlier one; spec.paused holds a new pool';

/** The JSON of a request. */
export const requestText = (request: object): string => JSON.stringify(request);

/** Identifies a request by its text: the same text again is the same request. */
export const digestOf = (text: string): string => hashOf(text);

/** Returns the request on the object unless its status answers it already; null if there is none. */
export function unhandledRequest<Asked extends Readable>(
  annotations: Annotations | undefined,
  { request, requestedBy }: RequestNames,
  read: Reader<Asked>,
  handled: readonly HandledRequest[] = [],
): ReadRequest<Asked> | null {
  const text = annotations?.[request];
  if (text === undefined || text === '') return null;
  const digest = digestOf(text);
  if (handled.some((one) => one.digest === digest)) return null;
  const by = (annotations?.[requestedBy] || 'unknown').slice(0, BY_LENGTH).toWellFormed();
  const unread = { digest, id: '', action: '', by };
  if (text.length > TEXT_LENGTH) return { ...unread, fault: `${request} is longer than ${TEXT_LENGTH} characters` };
  try {
    return { ...unread, ...readText(text, request, read) };
  } catch (error) {
    if (error instanceof Unreadable) return { ...unread, fault: error.message };
    throw error;
  }
}

/**
 * Returns the state once the request that stands on the pool is answered: done, or refused with a reason, but never
 * put off. The effect and the answer are in one state, so that no request has an effect twice. `at` is RFC 3339.
 */
export function withRequest<State extends { handledRequests?: HandledRequest[] }, Asked extends Readable>(
  { metadata: { annotations } }: StoredPool,
  [names, read]: readonly [RequestNames, Reader<Asked>],
  state: State,
  at: string,
  answered: (found: FoundRequest & { body: Asked }) => [after: State, Answer],
): State {
  const found = unhandledRequest(annotations, names, read, state.handledRequests);
  if (found === null) return state;
  const [after, answer]: [State, Answer] =
    'fault' in found ? [state, { outcome: 'Invalid', message: found.fault }] : answered(found);
  return { ...after, handledRequests: withAnswer(after.handledRequests, found, answer, at) };
}

type OfText<Asked> = Pick<FoundRequest, 'id' | 'action' | 'reason' | 'vms'> & { body: Asked };

/** Throws `Unreadable`. */
function readText<Asked extends Readable>(text: string, request: string, read: Reader<Asked>): OfText<Asked> {
  const fields = parsedObject(text);
  if (fields === null) throw new Unreadable(`${request} must be a JSON object such as {"id":"1","action":"pause"}`);
  const { id, action, reason } = fields;
  if (typeof id !== 'string' || !ID.test(id))
    throw new Unreadable(`${request}.id must be 1 to 63 letters, digits and -_.:@, of your choice`);
  if (reason !== undefined && typeof reason !== 'string') throw new Unreadable(`${request}.reason must be a text`);
  const body = read(fields, request);
  const unknown = Object.keys(fields).find((key) => !OF_ALL.includes(key) && !Object.hasOwn(body, key));
  if (unknown !== undefined)
    throw new Unreadable(`${request}.${unknown.slice(0, 63)} is unknown for the action ${String(action)}`);
  const cut = reason?.slice(0, REASON_LENGTH).toWellFormed();
  const { vms } = body;
  return {
    id,
    action: String(action),
    ...(cut === undefined || cut === '' ? {} : { reason: cut }),
    ...(vms === undefined ? {} : { vms }),
    body,
  };
}

/** Returns the answers with this one, which is the newest. `at` is RFC 3339. */
export function withAnswer(
  handled: readonly HandledRequest[] = [],
  { digest, id, action, by, reason, vms }: FoundRequest,
  { outcome, message }: Answer,
  at: string,
): HandledRequest[] {
  const answer = { outcome, message: message.slice(0, MESSAGE_LENGTH).toWellFormed() };
  const given = { ...(reason === undefined ? {} : { reason }), ...(vms === undefined ? {} : { vms }) };
  const newest = { id, digest, action, by, at, ...given, ...answer };
  return [...handled, newest].slice(-CAPS.handledRequests);
}

export const answerTo = (digest: string, handled: readonly HandledRequest[] = []): HandledRequest | undefined =>
  handled.find((one) => one.digest === digest);
