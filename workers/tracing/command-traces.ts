import type { CacheChange, ObjectChange } from '../../activities/cache/objects/cache-change.ts';
import { TRACEPARENT_ANNOTATION } from '../../api/labels-and-annotations.ts';
import type { KubeObject } from '../../api/objects.ts';
import { operationKey } from '../../decisions/operations/ref.ts';
import { workflowIdOf } from '../watch/workflow-signals.ts';

/** For this long after a command, in milliseconds, what is done to its object belongs to the trace of the command. */
const TRACED_MS = 3_600_000;

/** What commands write to and a workflow keeps. */
const KEPT = ['pool', 'replica set', 'VMI replica set', 'operation', 'schedule'] as const;

type Kept = (typeof KEPT)[number];

/** An object whose workflow is signalled, by its key as the watch has it. */
export interface Signalled {
  kind: Kept;
  key: string;
}

type KeptChange = Extract<ObjectChange, { kind: Kept }>;

/**
 * Traces of commands, by the workflows of the objects that they wrote. A command notes its trace on the object, and
 * this worker remembers it from the moment that it sees the change: what an object says since long begins nothing.
 */
export class CommandTraces {
  readonly #cluster: string;
  readonly #traces = new Map<string, { traceparent: string; until: number }>();

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  /** `isNews`: reports false while all objects are listed for the first time. */
  hear(change: CacheChange, isNews: () => boolean, now = Date.now()): void {
    if (!isKept(change)) return;
    const [before, after] = [change.before, change.after].map((object) => traceparentOf(object));
    if (after === undefined || after === before || !isNews()) return;
    const { metadata } = change.after!;
    const isOperation = change.kind === 'operation' || change.kind === 'schedule';
    const key = isOperation ? operationKey(metadata) : `${metadata.namespace}/${metadata.name}`;
    this.#traces.set(this.idOf({ kind: change.kind, key }), { traceparent: after, until: now + TRACED_MS });
  }

  /** Returns the id of the workflow that keeps an object. */
  idOf({ kind, key }: Signalled): string {
    return workflowIdOf(kind, { cluster: this.#cluster, key });
  }

  /** Returns the trace that a workflow, or a child of it, acts for now. */
  of(workflowId: string, now = Date.now()): string | undefined {
    const parts = workflowId.split('/');
    for (const length of [5, 4]) {
      const id = parts.slice(0, length).join('/');
      const trace = this.#traces.get(id);
      if (trace === undefined) continue;
      if (trace.until > now) return trace.traceparent;
      this.#traces.delete(id);
    }
    return undefined;
  }
}

const isKept = (change: CacheChange): change is KeptChange => (KEPT as readonly string[]).includes(change.kind);

const traceparentOf = (object: { metadata: KubeObject['metadata'] } | undefined): string | undefined =>
  object?.metadata.annotations?.[TRACEPARENT_ANNOTATION];
