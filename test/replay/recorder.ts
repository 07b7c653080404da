import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { WorkflowHandle } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { connectTemporal } from '../../clients/session/temporal.ts';
import { setup } from '../../clients/setup/setup.ts';
import { startStack } from '../../dev/stack.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';

const FOLDER = join(import.meta.dirname, 'histories');

/** Starts a separate stack, whose workflows' histories can be kept under the label that the script was given. */
export async function startRecorder(script: string) {
  const label = process.argv[2];
  if (label === undefined) throw new Error(`say what the histories are of: node test/replay/${script} v0.1.0`);
  const state = mkdtempSync(join(tmpdir(), 'drover-record-'));
  const stack = await startStack({
    state,
    ephemeral: true,
    prepare: async ({ KUBECONFIG, TEMPORAL_ADDRESS }) => {
      const kube = new KubeClient(loadKubeConfig({ kubeconfig: KUBECONFIG }));
      const temporal = await connectTemporal({ address: TEMPORAL_ADDRESS });
      await setup({ kube, temporal, cluster: 'default', say: () => {} });
      await Promise.all([kube.close(), temporal.connection.close()]);
    },
  });
  const kube = new KubeClient(loadKubeConfig({ kubeconfig: stack.kubeconfig }));
  const { client, connection } = await connectTemporal({ address: stack.temporalAddress });
  return {
    kube,
    client,
    /** Keeps the first run of each workflow, and the last one if it has continued as new. */
    keep: async (handles: Record<string, WorkflowHandle>): Promise<void> => {
      mkdirSync(FOLDER, { recursive: true });
      const write = (name: string, history: History): void =>
        writeFileSync(join(FOLDER, `${name}-${label}.json.gz`), gzipSync(historyToJSON(history), { level: 9 }));
      for (const [type, handle] of Object.entries(handles)) {
        const last = await handle.fetchHistory();
        const started = last.events![0]!.workflowExecutionStartedEventAttributes!;
        const first = client.workflow.getHandle(handle.workflowId, started.firstExecutionRunId!);
        write(type, await first.fetchHistory());
        if (started.continuedExecutionRunId) write(`${type}-continued`, last);
      }
    },
    end: async (): Promise<void> => {
      await kube.close();
      await connection.close();
      await stack.stop();
      rmSync(state, { recursive: true, force: true });
    },
  };
}
