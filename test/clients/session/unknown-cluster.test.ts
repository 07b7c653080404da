import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Session } from '../../../clients/session/session.ts';
import { warnOfUnknownCluster } from '../../../clients/session/unknown-cluster.ts';

/** Returns the remark on a cluster if Temporal has the watches of these clusters. */
async function remarkOn(cluster: string, watched: string[]): Promise<string> {
  const describeOf = (id: string): unknown => {
    if (!watched.includes(id.replace('watch/', '')))
      throw new WorkflowNotFoundError('workflow not found', id, undefined);
    return { status: { name: 'RUNNING' }, memo: {} };
  };
  const list = async function* (): AsyncGenerator {
    for (const name of watched) yield { workflowId: `watch/${name}` };
  };
  const getHandle = (id: string): unknown => ({ describe: async () => describeOf(id) });
  const temporal = async (): Promise<unknown> => ({
    address: 'temporal:7233',
    client: { workflow: { getHandle, list } },
  });
  const write = vi.spyOn(process.stderr, 'write').mockClear().mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  await warnOfUnknownCluster({ temporal } as unknown as Session, cluster);
  return write.mock.calls.map(([text]) => text).join('');
}

test('a cluster without a watch is reported, with those that have one', async () => {
  const words =
    'no workflow watches a cluster named nosuch in Temporal at temporal:7233; --cluster and DROVER_CLUSTER choose among: ';
  expect(await remarkOn('nosuch', ['west', 'east'])).toBe(`${words}east, west\n`);
  expect(await remarkOn('nosuch', [])).toBe(`${words}none, and \`drover setup\` makes one known\n`);
});

test('a cluster with a watch is not mentioned', async () => expect(await remarkOn('east', ['west', 'east'])).toBe(''));
