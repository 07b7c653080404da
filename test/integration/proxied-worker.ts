import { beforeAll, onTestFinished } from 'vitest';
import { startChaosProxy, type ChaosOptions, type FateOf } from './chaos-proxy.ts';
import type { TestFleet } from './fleet.ts';

const pass: FateOf = () => 'pass';

/**
 * Starts one worker for all tests of the file, behind a proxy that lets every call pass. The returned function decides
 * what happens to its calls until the end of the test.
 */
export function aProxiedWorker(fleet: () => TestFleet, options: ChaosOptions = {}): (fate: FateOf) => void {
  let current = pass;
  beforeAll(async () => {
    const proxy = await startChaosProxy(fleet().workerKubeconfig, (method, path) => current(method, path), options);
    await fleet().startWorker({ KUBECONFIG: proxy.kubeconfig });
    return proxy.close;
  });
  return (fate) => {
    current = fate;
    onTestFinished(() => {
      current = pass;
    });
  };
}
