import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { Nodes, VirtualMachineInstances, VirtualMachinePools, VirtualMachines } from '../../api/resources.ts';
import { needs } from '../cluster/given/needs.ts';
import { aFleet, until } from './fleet.ts';
import { run } from './membership/commands.ts';

const fleet = aFleet();
beforeAll(async () => void (await fleet().worker()));

/** Commands that the page gives together, and lines that it says they print. */
interface Step {
  commands: string[];
  lines: string[];
}

/** Returns the steps of a page: its blocks of commands, each with the block of output that follows. */
function stepsOf(page: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, block] of page.matchAll(/^```(\w*)\n(.*?)^```$/gms))
    // A document that a command writes is a part of it.
    if (language === 'sh') steps.push({ commands: block!.match(/^.*<<'END'\n[^]*?^END$|^.+$/gm)!, lines: [] });
    else steps.at(-1)!.lines.push(...block!.split('\n').filter((line) => line.trim() !== ''));
  return steps;
}

const steps = stepsOf(readFileSync(new URL('../../docs/tutorial.md', import.meta.url), 'utf8'));

const wordsOf = (line: string): string[] =>
  [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, bare]) => single ?? double ?? bare!);

/** Commands that change nothing, and so may be asked again until they say what the page says. */
const LOOKS = /^npx drover (status|history|(rollout|heal|drain) status|rollout history|operations get)\b(?!.*--watch)/;

/** What differs from run to run: numbers, times, hashes, users, namespaces, and what the page leaves out. */
const VARIES: [what: RegExp, as: string][] = [
  [/[.*+?^${}()|[\]\\]/g, String.raw`\$&`],
  [/…/g, '.*'],
  [/[█░]+/g, '[█░]+'],
  [/\b[0-9a-f]{10}\b/g, '<hash>'],
  [/\b\d+[smh]\b/g, '<time>'],
  [/\brestart-\w{5}\b/g, '<operation>'],
  [/\d+/g, String.raw`\d+`],
  [/<hash>/g, '[0-9a-f]{10}'],
  [/<time>/g, '[0-9smh]+'],
  [/<operation>/g, String.raw`restart-\w+`],
  [/\badmin\b/g, '(admin|ada)'],
  [/\bdefault\b/g, String.raw`\S+`],
  [/ +/g, ' +'],
];
const patternOf = (line: string): RegExp =>
  new RegExp(`^${VARIES.reduce((text, [what, as]) => text.replaceAll(what, as), line.trim())}`, 'm');

const missingIn = (printed: readonly string[], lines: readonly string[]): string[] =>
  lines.filter((line) => !patternOf(line).test(printed.join('\n')));

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
  else if (of === 'scale dpool')
    await kube.patch(
      VirtualMachinePools,
      { namespace, name: name! },
      'merge',
      { spec: { replicas: Number(more.at(-1)) } },
      { subresource: 'scale', fieldManager: 'kubectl' },
    );
  else if (of === 'delete dpool') await kube.delete(VirtualMachinePools, { namespace, name: name! });
  else if (of === 'delete vmi') await kube.delete(VirtualMachineInstances, { namespace, name: name! });
  else throw new Error(`nobody knows what "kubectl ${of}" does`);
}

test('each command of docs/tutorial.md does what the page says, and prints what it shows', async () => {
  // The page names its nodes, and asks the simulator for what happens.
  needs('an embedded stack');
  const namespace = await fleet().namespace();
  const folder = mkdtempSync(join(tmpdir(), 'drover-tutorial-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const perform = async (line: string): Promise<string> => {
    const [program, ...args] = wordsOf(line.replace(/ +# .*/, ''));
    if (line.includes('npx drover dev')) return '';
    if (program === 'npx') {
      const here = args.slice(1).map((word) => (word === 'web.yaml' ? join(folder, word) : word));
      // A drain is about a node, and no namespace.
      const { code, stdout, stderr } = await run(fleet(), namespace, ...here);
      expect({ line, code, stderr }).toMatchObject({ code: line.includes('# exit code 1') ? 1 : 0 });
      return `${stdout}\n${stderr}`.replaceAll(/^ +/gm, '');
    }
    if (program === 'kubectl') await kubectl(namespace, args);
    else execFileSync('bash', ['-c', line], { cwd: folder });
    return '';
  };
  for (const { commands, lines } of steps) {
    const printed: string[] = [];
    for (const line of commands) {
      if (line.endsWith('drain cancel sim-node-2'))
        await until(async () => expect(await perform('npx drover drain status sim-node-2')).toContain('no VMI is on'));
      printed.push(await perform(line));
    }
    const looks = commands.slice(commands.findLastIndex((line) => !LOOKS.test(line)) + 1);
    await until(async () => {
      if (missingIn(printed, lines).length > 0) for (const line of looks) printed.push(await perform(line));
      expect({ commands, missing: missingIn(printed, lines) }).toMatchObject({ missing: [] });
    });
  }
  expect(steps.flatMap(({ commands }) => commands).length).toBeGreaterThan(30);
  expect(steps.flatMap(({ lines }) => lines).length).toBeGreaterThan(55);
});
