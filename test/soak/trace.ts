import { openSync, writeSync } from 'node:fs';
import { asyncLocalStorage } from '@temporalio/activity';
import { KubeError, KubeUnreachable } from '../../kubernetes/errors.ts';
import { Transport, type HttpRequest } from '../../kubernetes/transport.ts';
import type { Activity, Note } from './requests.ts';

function activityNow(): Activity | null {
  const { info } = asyncLocalStorage.getStore() ?? {};
  if (info === undefined) return null;
  const { workflowId = '', runId = '' } = info.workflowExecution ?? {};
  const attempt = `${runId}/${info.activityId}/${info.attempt}`;
  return { type: info.activityType, workflowId, runId, workflowType: info.workflowType ?? '', attempt };
}

/** A dry run writes nothing; a deletion has it in its body. */
const isDry = ({ path, body }: HttpRequest): boolean =>
  path.includes('dryRun=') || (body as { dryRun?: unknown } | undefined)?.dryRun !== undefined;

/**
 * An API server that gives up, or a caller who does, leaves open whether the call was carried out. It was not if a
 * webhook could not be asked.
 */
const isLost = (error: unknown, { signal }: HttpRequest): boolean =>
  error instanceof KubeError
    ? error.status >= 500 && !error.message.includes('webhook')
    : error instanceof KubeUnreachable || signal?.aborted === true;

/**
 * Has this process append to the file what it asks of the API server, before it is sent, and how that ended. A process
 * that is killed leaves what it has asked without an end.
 */
export function traceRequests(path: string, who: Note['who']): void {
  const file = openSync(path, 'a');
  const tell = (note: Omit<Note, 'at' | 'who'>): void =>
    void writeSync(file, `${JSON.stringify({ ...note, who, at: Date.now() } satisfies Note)}\n`);
  let count = 0;
  // oxlint-disable-next-line typescript/unbound-method
  const json = Transport.prototype.json;
  Transport.prototype.json = async function traced<T>(this: Transport, request: HttpRequest): Promise<T> {
    const { method, path, body } = request;
    const activity = activityNow();
    if (isDry(request) || (method === 'GET' && activity === null)) return json.call(this, request) as Promise<T>;
    const id = `${process.pid}/${++count}`;
    const name = (body as { metadata?: { name?: string } } | undefined)?.metadata?.name;
    tell({ id, asked: { method, path, activity, ...(name === undefined ? {} : { name }) } });
    try {
      const answer = (await json.call(this, request)) as T & { metadata?: { resourceVersion?: string } };
      const version = answer.metadata?.resourceVersion;
      tell({ id, end: 'answered', ...(version === undefined ? {} : { version }) });
      return answer;
    } catch (error) {
      tell({ id, end: isLost(error, request) ? 'lost' : 'refused' });
      throw error;
    }
  };
}
