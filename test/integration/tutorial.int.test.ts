import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { Nodes, VirtualMachineInstances, VirtualMachines } from '../../api/resources.ts';
import { needs } from '../cluster/given/needs.ts';
import { aFleet, until } from './fleet.ts';
import { run } from './membership/commands.ts';

const fleet = aFleet();
beforeAll(async () => void (await fleet().worker()));

const page = readFileSync(new URL('../../docs/tutorial.md', import.meta.url), 'utf8');
/** Each command of the page; a document that one writes is a part of it. */
const commands = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) =>
  block!.trim().match(/^.*<<'END'\n[^]*?^END$|^.+$/gm)!,
);

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare!);

/** Does what kubectl would. */
async function kubectl(namespace: string, [verb, kind, name, ...more]: string[]): Promise<void> {
  const { kube } = fleet();
  const of = `${verb} ${kind}`;
  if (verb === 'cordon' || verb === 'uncordon')
    await kube.patch(Nodes, { name: kind! }, 'merge', { spec: { unschedulable: verb === 'cordon' } });
  else if (of === 'annotate node') {
    const [key, value] = more[0]!.split('=');
    const annotations = { [key!.replace(/-$/, '')]: value ?? null };
    await kube.patch(Nodes, { name: name! }, 'merge', { metadata: { annotations } });
  } else if (of === 'patch vm')
    await kube.patch(VirtualMachines, { namespace, name: name! }, 'merge', JSON.parse(more.at(-1)!) as object);
  else if (of === 'delete vmi') await kube.delete(VirtualMachineInstances, { namespace, name: name! });
  else throw new Error(`nobody knows what "kubectl ${of}" does`);
}

test('each command of docs/tutorial.md does what the page says', async () => {
  // The page names its nodes, and asks the simulator for what happens.
  needs('an embedded stack');
  const namespace = await fleet().namespace();
  const folder = mkdtempSync(join(tmpdir(), 'drover-tutorial-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const printed: string[] = [];
  const perform = async (line: string): Promise<void> => {
    const [program, ...args] = wordsOf(line.replace(/ +# .*/, ''));
    if (line.includes('npx drover dev')) return;
    if (program === 'npx') {
      const here = args.slice(1).map((word) => (word === 'web.yaml' ? join(folder, word) : word));
      // A drain is about a node, and no namespace.
      const { code, stdout, stderr } = await run(fleet(), namespace, ...here);
      expect({ line, code, stderr }).toMatchObject({ code: line.includes('# exit code 1') ? 1 : 0 });
      printed.push(stdout, stderr);
    } else if (program === 'kubectl') await kubectl(namespace, args);
    else execFileSync('bash', ['-c', line], { cwd: folder });
  };
  const said = (words: RegExp | string): void => expect(printed.join('\n')).toMatch(words);
  const healStatus = 'npx drover heal status pool web';
  for (const line of commands) {
    if (line.startsWith('npx drover delete'))
      await until(async () => {
        await perform(healStatus);
        said(/web-3 +1 +Healed/);
      });
    if (line.startsWith('kubectl annotate node') && line.endsWith('-'))
      await until(async () => {
        printed.length = 0;
        await perform('npx drover drain status sim-node-2');
        said('no VMI is on node sim-node-2');
      });
    await perform(line);
    if (line === 'npx drover get pool web') said(/web +4 +4 +4 +4 +Complete/);
    if (line.includes('# exit code 1')) said(/1 VM failed, and maxFailures allows 0; .*not ready in time/);
    if (line.startsWith('npx drover rollout status') && line.endsWith('--watch'))
      said(/: Complete\n {2}all VMs have revision 4 /);
  }
  said('virtualmachinepool.drover.dev "web" deleted');
  expect(commands.length).toBeGreaterThan(25);
});
