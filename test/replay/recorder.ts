import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { WorkflowHandle } from '@temporalio/client';
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
    /** Keeps all runs of each workflow, those after the first in a folder of their own. */
    keep: async (handles: Record<string, WorkflowHandle>): Promise<void> => {
      for (const [type, handle] of Object.entries(handles)) {
        const { workflowId } = handle;
        const last = await handle.fetchHistory();
        let runId = last.events![0]!.workflowExecutionStartedEventAttributes!.firstExecutionRunId;
        for (let run = 1; runId; run++) {
          const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
          const file = join(FOLDER, `${run === 1 ? type : join(`${type}-runs`, String(run))}-${label}.json.gz`);
          mkdirSync(dirname(file), { recursive: true });
          writeFileSync(file, gzipSync(historyToJSON(history), { level: 9 }));
          runId = history.events!.at(-1)!.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
        }
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
