import '../../own-modules.ts';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startTransition } from '../../../clients/machine-types/begin.ts';
import type { Session } from '../../../clients/session/session.ts';
import { aTransition } from '../../decisions/machine-types/snapshots.ts';

vi.mock('../../../clients/session/same-cluster.ts', () => ({ ensureSameCluster: () => Promise.resolve() }));

test('Ctrl-C while Temporal has not answered yet says which transition may have begun', async () => {
  const said: string[] = [];
  const writing = vi.spyOn(process.stderr, 'write').mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => writing.mockRestore());
  const answer = Promise.withResolvers<void>();
  const started = vi.fn<(type: string, options: { workflowId: string; args: unknown[] }) => Promise<void>>(
    () => answer.promise,
  );
  const session = {
    cluster: 'default',
    temporal: () => Promise.resolve({ client: { workflow: { start: started } } }),
  } as unknown as Session;
  const others = new Set(process.listeners('SIGINT'));
  const own = (): NodeJS.SignalsListener[] => process.listeners('SIGINT').filter((listener) => !others.has(listener));

  const transition = aTransition();
  const starting = startTransition(session, transition, { vms: '7' });
  await vi.waitFor(() => expect(started).toHaveBeenCalled());
  const { workflowId, args } = started.mock.calls[0]![1];
  expect(args).toEqual([
    { ref: { cluster: 'default', id: workflowId.slice(-8) }, transition, minVersions: { vms: '7' } },
  ]);
  for (const listener of own()) listener('SIGINT');
  expect(said).toEqual([`\n${workflowId} may have begun: \`drover machine-types status ${workflowId}\` shows it\n`]);
  answer.resolve();
  await starting;
  expect(own()).toEqual([]);
});

test('the Web UI, which reads Markdown, shows the whole glob and the reason as it was given', async () => {
  const started = vi.fn<(type: string, options: { staticSummary: string }) => Promise<void>>(() => Promise.resolve());
  const session = {
    cluster: 'default',
    temporal: () => Promise.resolve({ client: { workflow: { start: started } } }),
  } as unknown as Session;
  await startTransition(session, aTransition({ scope: { glob: '*rhel8.*' }, reason: 'one\n# two' }), {});
  expect(started.mock.calls[0]![1].staticSummary).toBe(
    'Machine types: `*rhel8.*` to the default, VMIs restarted by drover; requested by ann: one \\# two',
  );
});
