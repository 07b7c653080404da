import { closeSync, openSync, readSync } from 'node:fs';
import type { Resource } from '../../api/resources.ts';
import { isDeletion } from '../model/facts.ts';
import type { SeenWrite } from './etcd-journal.ts';

/** Environment variable with the path of the file that workers append to. */
export const TRACE = 'DROVER_SOAK_TRACE';

/** The activity that has asked. */
export interface Activity {
  type: string;
  workflowId: string;
  runId: string;
  workflowType: string;
  /** The same for all that one attempt asks. */
  attempt: string;
}

/** A line of the file: what was asked, or how it ended. */
export interface Note {
  id: string;
  who: 'worker' | 'people';
  at: number;
  asked?: { method: string; path: string; name?: string; activity: Activity | null };
  /** `lost`: it may have been carried out. */
  end?: 'answered' | 'refused' | 'lost';
  version?: string;
}

/** What a worker, or the soak itself, has asked of the API server. */
export interface Request extends Pick<Note, 'id' | 'who' | 'at' | 'end'> {
  verb: 'get' | 'create' | 'patch' | 'delete';
  /** `<plural>.<group>/<namespace>/<name>`. */
  key: string;
  activity: Activity | null;
  endAt?: number;
  version?: string | undefined;
}

const VERBS: Record<string, Request['verb']> = { GET: 'get', POST: 'create', DELETE: 'delete' };
const PATH = /^\/apis\/([^/]+)\/[^/]+\/namespaces\/([^/]+)\/([^/?]+)(?:\/([^/?]+))?/;
/** For so long requests are kept, in milliseconds. */
const OPEN_MS = 120_000;

export const keyOf = ({ plural, group }: Resource, { namespace, name }: { namespace?: string; name: string }): string =>
  `${plural}.${group}/${namespace}/${name}`;

/**
 * Who wrote what, and why, by the words of those who ask. What was written is never taken from here. A write is a
 * worker's if an answer had its version, or if a request for just this had no answer. In the latter case, the simulator
 * may have been the one: what is found because of it says that the answer was lost.
 */
export class Requests {
  readonly #file: number;
  #offset = 0;
  #rest = '';
  readonly #byId = new Map<string, Request>();
  readonly #byKey = new Map<string, Request[]>();

  constructor(path: string) {
    this.#file = openSync(path, 'a+');
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Reads what was appended since, and returns new reads of single objects. */
  read(): Request[] {
    const buffer = Buffer.alloc(1 << 20);
    const reads: Request[] = [];
    for (;;) {
      const length = readSync(this.#file, buffer, 0, buffer.length, this.#offset);
      if (length === 0) return reads;
      this.#offset += length;
      const lines = (this.#rest + buffer.toString('utf8', 0, length)).split('\n');
      this.#rest = lines.pop()!;
      for (const line of lines) {
        const request = this.take(JSON.parse(line) as Note);
        if (request?.verb === 'get' && request.end === undefined) reads.push(request);
      }
    }
  }

  take({ id, who, at, asked, end, version }: Note): Request | undefined {
    if (asked !== undefined) return this.#asked({ id, who, at }, asked);
    const request = this.#byId.get(id);
    if (request === undefined) return undefined;
    this.#byId.delete(id);
    Object.assign(request, { end, endAt: at, version });
    if (end === 'refused' || request.verb === 'get') this.#drop(request);
    return request;
  }

  #asked(by: Pick<Note, 'id' | 'who' | 'at'>, { method, path, name: named, activity }: NonNullable<Note['asked']>) {
    const [, group, namespace, plural, name = named] = PATH.exec(path) ?? [];
    if (group === undefined || name === undefined) return undefined;
    const key = `${plural}.${group}/${namespace}/${name}`;
    const request: Request = { ...by, verb: VERBS[method] ?? 'patch', key, activity };
    this.#byId.set(by.id, request);
    if (request.verb !== 'get') this.#byKey.set(key, [...this.#open(key, by.at), request]);
    return request;
  }

  #open(key: string, now: number): Request[] {
    return (this.#byKey.get(key) ?? []).filter(({ at }) => at > now - OPEN_MS);
  }

  #drop(request: Request): void {
    const others = (this.#byKey.get(request.key) ?? []).filter((one) => one !== request);
    if (others.length === 0) this.#byKey.delete(request.key);
    else this.#byKey.set(request.key, others);
  }

  /** Returns the request of a worker that made this write; undefined if none did. */
  authorOf(write: SeenWrite): Request | undefined {
    const key = keyOf(write.resource, (write.after ?? write.before)!.metadata);
    const possible = this.#open(key, write.at).filter((one) => one.verb === verbOf(write) && one.at <= write.at);
    const found =
      possible.find(({ version }) => version === write.revision) ??
      possible.findLast((one) => one.version === undefined && isOpenAt(one, write.at) && isOfDrover(one, write));
    if (found !== undefined) this.#drop(found);
    return found;
  }
}

const verbOf = ({ before, after }: SeenWrite): Request['verb'] =>
  before === undefined ? 'create' : isDeletion(before, after) ? 'delete' : 'patch';

/** For so long after its end, or without one its beginning, a request may have been on its way, in milliseconds. */
const ON_ITS_WAY_MS = { answered: 1_000, lost: 5_000, refused: 0 } as const;
const NO_END_MS = 30_000;
const isOpenAt = ({ at: asked, end, endAt }: Request, at: number): boolean =>
  at <= (end === undefined ? asked + NO_END_MS : endAt! + ON_ITS_WAY_MS[end]);

/** Whether a patch that was not answered may be this one: the field manager of a deletion is not recorded. */
function isOfDrover({ verb, at, who }: Request, { after }: SeenWrite): boolean {
  if (verb !== 'patch' || who === 'people') return true;
  const fields = (after?.metadata.managedFields ?? []) as { manager?: string; time?: string }[];
  return fields.some(({ manager = '', time = '' }) => manager.startsWith('drover') && Date.parse(time) >= at - 1_000);
}
