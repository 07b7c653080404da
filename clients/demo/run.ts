import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool } from '../../decisions/views/pool.ts';
import type { Stack } from '../../dev/embedded-stack.ts';
import { defaultState, pathsOf } from '../../dev/paths.ts';
import { exportLines } from '../../dev/services/environment.ts';
import { startStack } from '../../dev/stack.ts';
import { poolIdOf } from '../../workflows/lib/messages.ts';
import { applyOne, dryRunAll } from '../apply/apply.ts';
import { planOf } from '../apply/plan.ts';
import { readyStateOf } from '../apply/ready-state.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { printNote, paint, print } from '../cli/print.ts';
import { followOwners, inTime, untilAborted } from '../cli/watch-until.ts';
import { prepare } from '../dev/prepare.ts';
import { workflowUrl } from '../owners/progress.ts';
import { StatusWatch } from '../owners/status-watch.ts';
import { Session } from '../session/session.ts';

interface DemoChoice {
  /** End after everything has been shown. */
  exit: boolean;
  /** State folder of the stack. */
  state: string;
}

const EXAMPLE = fileURLToPath(new URL('../../examples/pool.yaml', import.meta.url));
const CLUSTER = 'default';
const NAMESPACE = 'default';
const POOL = 'web';
const OUT = 16;
const IN = 4;
const CORES = 2;
const STAGE_TIMEOUT_MS = 180_000;
/** Read before the stack's environment becomes that of this process. */
const DEFAULT_STATE = defaultState();

/** Ctrl-C, which ends what is in progress. */
class Interrupted extends Failure {}

/** Runs the whole demonstration, and stops all that it started. Throws `Failure` if a stage fails. */
export async function runDemo({ exit, state }: DemoChoice): Promise<void> {
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => interrupt.abort(new Interrupted('interrupted')));
  const { signal } = interrupt;
  let stack: Stack | undefined;
  try {
    say('drover on this machine alone: Temporal, etcd, kube-apiserver, a simulated KubeVirt, and a worker.');
    say(`Starting the stack in ${state}; a tool that is missing is built first, which takes some minutes, once.`);
    stack = await startStack({
      state,
      ephemeral: true,
      prepare: (env) => prepare(env, CLUSTER),
      onProgress: (line) => print(`  ${line}`),
      signal,
    });
    await show(stack, signal);
    if (!exit) {
      say('It runs until Ctrl-C.');
      await untilAborted(signal);
    }
  } catch (error) {
    if (error instanceof Interrupted || signal.aborted) process.exitCode = 130;
    else throw failureOf(error, state);
  } finally {
    if (stack !== undefined) {
      say('Stopping the stack.');
      await stack.stop();
    }
  }
}

/** Returns the first line of the stack's error as a `Failure`; notes the other lines, which are a process's log. */
function failureOf(error: unknown, state: string): Failure {
  const [sentence = '', ...log] = error instanceof Error ? error.message.split('\n') : [String(error)];
  if (log.length > 0) printNote(log.join('\n'));
  return new Failure(`${sentence} (logs: ${pathsOf(state).logs})`, { cause: error });
}

async function show(stack: Stack, signal: AbortSignal): Promise<void> {
  const session = new Session({ cluster: CLUSTER, namespace: NAMESPACE, state: stack.state });
  try {
    const kube = await session.kube();
    const key = { namespace: NAMESPACE, name: POOL };
    const { planned } = planOf([{ source: EXAMPLE, text: readFileSync(EXAMPLE, 'utf8') }], {
      given: undefined,
      byDefault: NAMESPACE,
    });
    const choices = { kube, force: false, checksVms: true };

    const scaleTo = (replicas: number): Promise<unknown> =>
      kube.patch(Pools.resource, key, 'merge', { spec: { replicas } }, { subresource: 'scale' });
    say(`Applying examples/pool.yaml: a pool of 10 VMs (drover apply -f examples/pool.yaml).`);
    for (const each of await dryRunAll(planned, choices)) await applyOne(each, choices);
    await untilSettled(session, signal);

    say(`Scaling out to ${OUT} (kubectl scale dpool ${POOL} --replicas ${OUT}).`);
    await scaleTo(OUT);
    await untilSettled(session, signal);

    say(`Giving each VM ${CORES} cores: its VMI must restart for it, and a quarter of the pool does at a time.`);
    const domain = { cpu: { cores: CORES } };
    await kube.patch(Pools.resource, key, 'merge', {
      spec: { template: { spec: { template: { spec: { domain } } } } },
    });
    await untilSettled(session, signal);

    say(`Scaling in to ${IN} (kubectl scale dpool ${POOL} --replicas ${IN}).`);
    await scaleTo(IN);
    await untilSettled(session, signal);
    await printHints(session, stack);
  } finally {
    await session.close();
  }
}

/**
 * Shows the pool as it changes until it is as its spec says. What is refused may be accepted at the next try: it is
 * told if that lasts for too long.
 */
async function untilSettled(session: Session, signal: AbortSignal): Promise<void> {
  await using _drawn = await new StatusWatch(session, { kind: Pools, namespace: NAMESPACE, names: [POOL] }).start();
  const kube = await session.kube();
  const pool = await kube.get<Pool>(Pools.resource, { namespace: NAMESPACE, name: POOL });
  let last = readyStateOf(Pools, pool);
  await inTime(STAGE_TIMEOUT_MS, (timeout) =>
    followOwners({ kube, kind: Pools, owners: [pool], signal: AbortSignal.any([signal, timeout!]) }, ([now]) => {
      last = readyStateOf(Pools, now!);
      return last.state !== 'going';
    }),
  );
  if (last.state === 'stuck') throw new Failure(`pool ${POOL}: ${last.message}`);
  if (last.state === 'there') return;
  const message = [last.message, ...last.notes].join('; ');
  throw new Failure(`pool ${POOL} does not match its spec after ${STAGE_TIMEOUT_MS / 1000} s: ${message}`);
}

async function printHints(session: Session, stack: Stack): Promise<void> {
  const workflow = await workflowUrl(session, poolIdOf({ cluster: CLUSTER, namespace: NAMESPACE, name: POOL }));
  const elsewhere = stack.state === DEFAULT_STATE ? '' : ` --state ${stack.state}`;
  say('Everything is as it should be.');
  print(`
  Temporal's Web UI   ${stack.temporalUi}
  the pool's workflow ${workflow ?? ''}
  the kubeconfig      ${stack.kubeconfig}

In another terminal, in this folder:

  npx drover status --watch${elsewhere}
  npx drover status pool ${POOL}${elsewhere}
  npx drover rollout history pool ${POOL}${elsewhere}
  npx drover rollout undo pool ${POOL}${elsewhere}

and with kubectl, after . ${join(stack.state, 'env')}, which says what follows:

  kubectl get dpool,vm
  kubectl scale dpool ${POOL} --replicas 12

${exportLines(stack.env).trimEnd()}
`);
}

const say = (sentence: string): void => print(`${paint('cyan', '==>')} ${paint('bold', sentence)}`);
