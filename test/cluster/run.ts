import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CONFIRM_DELETION_ANNOTATION } from '../../api/labels-and-annotations.ts';
import { CustomResourceDefinitions, Nodes } from '../../api/resources.ts';
import type { Node } from '../../decisions/from-object/node.ts';
import { KubeClient } from '../../kubernetes/client.ts';
import { loadKubeConfig } from '../../kubernetes/config.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import { integrationTests } from './files.ts';
import { environmentOf, type GivenCluster } from './given/given.ts';
import { removeAll } from './given/ownership.ts';
import { preflight, type Facts } from './given/preflight.ts';
import type { Skip } from './given/skip.ts';
import { createWorkerAccount } from './given/worker-rights.ts';
import { report } from './report.ts';

/**
 * `npm run test:cluster -- --kubeconfig FILE`: runs every integration test that doesn't need the simulator on a cluster
 * with KubeVirt.
 */

const PROJECT = resolve(import.meta.dirname, '../..');
const USAGE = `npm run test:cluster -- --kubeconfig FILE [--context NAME] [--temporal HOST:PORT] [FILE...] [-t PATTERN]

  --kubeconfig FILE     the cluster, with the rights of an administrator
  --context NAME        another than the file's current context
  --temporal HOST:PORT  a Temporal to use, with namespaces of the tests' own; else each test file starts one
  -t PATTERN            only tests whose names match
  --stand-in            nothing looks after the cluster's pods but a stand-in for kubelet and virt-handler; tests cordon
                        its nodes, and the end of the run uncordons them
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kubeconfig: { type: 'string' },
    context: { type: 'string' },
    temporal: { type: 'string' },
    testNamePattern: { type: 'string', short: 't' },
    'stand-in': { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<number> {
  if (values.help || values.kubeconfig === undefined) {
    say(USAGE);
    return values.help ? 0 : 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'drover-test-cluster-'));
  const config = loadKubeConfig({ kubeconfig: values.kubeconfig, context: values.context });
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, config.exportConfig(), { mode: 0o600 });
  const kube = new KubeClient(config, { fieldManager: 'test' });
  try {
    const facts = await preflight(kube);
    const run = randomBytes(3).toString('hex');
    say(`KubeVirt ${facts.kubevirt} at ${kube.server}; run ${run}`);
    const given: GivenCluster = {
      kubeconfig,
      temporal: values.temporal ?? null,
      run,
      home: `drover-test-${run}`,
      hasStandIn: values['stand-in'],
      lacks: [
        'an embedded stack',
        'a worker that writes in all namespaces',
        ...facts.lacks,
        ...(values['stand-in'] ? (['VMIs that can be paused'] as const) : []),
      ],
      skips: join(folder, 'skips.jsonl'),
    };
    try {
      await createWorkerAccount(kube, given);
      const code = await runTests(given, folder);
      say(report(integrationTests(), skipsIn(given), positionals.length > 0));
      return code;
    } finally {
      await cleanUp(kube, given, facts);
    }
  } finally {
    await kube.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs in a process group of its own, so that Ctrl-C ends the tests and leaves this process to clean up, the temporary
 * files of the tests as well.
 */
async function runTests(given: GivenCluster, folder: string): Promise<number> {
  const names = values.testNamePattern === undefined ? [] : ['-t', values.testNamePattern];
  const args = ['run', '--reporter=verbose', '--config', 'test/cluster/vitest.config.ts', ...names, ...positionals];
  const env = { ...process.env, ...environmentOf(given), TMPDIR: folder };
  const child = spawn(join(PROJECT, 'node_modules/.bin/vitest'), args, {
    cwd: PROJECT,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    detached: true,
  });
  const interrupt = (): void => {
    say('interrupted: what the tests made is being removed');
    process.kill(-child.pid!, 'SIGKILL');
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  const [code] = (await once(child, 'exit')) as [number | null];
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.off(signal, interrupt).on(signal, () => say('what the tests made is still being removed'));
  return code ?? 130;
}

const skipsIn = ({ skips }: GivenCluster): Skip[] =>
  existsSync(skips)
    ? readFileSync(skips, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Skip)
    : [];

async function cleanUp(kube: KubeClient, { run, hasStandIn }: GivenCluster, { installed }: Facts): Promise<void> {
  if (hasStandIn) await uncordonAll(kube);
  await removeAll(kube, run);
  for (const name of installed) {
    const confirm = { metadata: { annotations: { [CONFIRM_DELETION_ANNOTATION]: 'true' } } };
    await ignoreNotFound(kube.patch(CustomResourceDefinitions, { name }, 'merge', confirm));
    await ignoreNotFound(kube.delete(CustomResourceDefinitions, { name }));
  }
  say(`removed: the namespaces and rights of run ${run}${installed.length === 0 ? '' : `, ${installed.join(', ')}`}`);
}

async function uncordonAll(kube: KubeClient): Promise<void> {
  for (const { metadata, spec } of (await kube.list<Node>(Nodes)).items)
    if (spec?.unschedulable === true)
      await kube.patch(Nodes, { name: metadata.name }, 'merge', { spec: { unschedulable: null } });
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`test:cluster: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
