import type { Session } from '../../../clients/session/session.ts';
import type { Act } from '../../../decisions/history/act.ts';

export interface Known {
  status?: string;
  /** Null if nobody answers for it. */
  acts: Act[] | null;
}

/** A session with a Temporal that knows these workflows. */
export function aSession(known: Record<string, Known>): { session: Session; queries: string[] } {
  const queries: string[] = [];
  async function* list({ query }: { query: string }) {
    queries.push(query);
    const [, id] = /WorkflowId = '([^']+)'/.exec(query) ?? [];
    for (const [workflowId, { status = 'RUNNING' }] of Object.entries(known)) {
      const isRun = workflowId.startsWith('operation/');
      if (id === undefined ? isRun : id === workflowId) yield { workflowId, runId: 'run', status: { name: status } };
    }
  }
  const answer = async (id: string): Promise<Act[]> => known[id]?.acts ?? Promise.reject(new Error('nobody is there'));
  const getHandle = (id: string) => ({
    workflowId: id,
    describe: () => Promise.resolve({ status: { name: 'RUNNING' }, memo: { clusterUid: 'uid' } }),
    query: () => (known[id]?.status === 'COMPLETED' ? Promise.reject(new Error('no worker is needed')) : answer(id)),
    result: async () => ({ acts: await answer(id) }),
  });
  const connection = {
    withDeadline: (_at: number, call: () => unknown) => call(),
    withAbortSignal: (_signal: unknown, call: () => unknown) => call(),
    workflowService: { describeTaskQueue: () => ({ pollers: [{ lastAccessTime: { seconds: Date.now() / 1_000 } }] }) },
  };
  const session = {
    cluster: 'default',
    temporal: () => Promise.resolve({ client: { workflow: { list, getHandle } }, connection, namespace: 'default' }),
    knowsTemporal: () => Promise.resolve(true),
    untilAnswered: <T>(call: Promise<T>) => call,
  };
  return { session: session as unknown as Session, queries };
}
