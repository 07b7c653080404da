import { Command } from 'commander';
import type { DataFormat } from '../cli/data.ts';
import { examples, formatOption } from '../cli/options.ts';
import { note, print } from '../cli/print.ts';
import { inSession, type Session } from '../session/session.ts';

export const driftCommand = (): Command =>
  new Command('drift')
    .description('list fields of VMs that users have changed, so that the VMs differ from their templates')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]')
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace', 'drover drift'],
        ['Look, and correct it', 'drover drift pool web && drover rollout restart pool web --drifted'],
        ['The names of the VMs', "drover drift pool web -o json | jq -r '.vms[].vm'"],
      ),
    )
    .action((word: string, words: string[], { output }: { output?: DataFormat }, command: Command) =>
      inSession(command, (session) => drift(session, [word, ...words], output)),
    );

async function drift(session: Session, words: string[], output: DataFormat | undefined): Promise<void> {
  const [{ poolsOf }, { readDrift }, { driftLines }, { printData }] = await Promise.all([
    import('../rollout/pools.ts'),
    import('../drift/read.ts'),
    import('../drift/lines.ts'),
    import('../cli/data.ts'),
  ]);
  const pools = await poolsOf(session, words);
  if (pools.length === 0) return note(`No resources found in ${await session.namespace()} namespace.`);
  const kube = await session.kube();
  const found = [];
  for (const pool of pools) found.push(await readDrift(kube, pool));
  if (output !== undefined) return printData(found.length === 1 ? found[0] : { items: found }, output);
  for (const [index, one] of found.entries()) {
    if (found.length > 1) print(`${index === 0 ? '' : '\n'}pool ${one.pool}`);
    print(driftLines(one).join('\n'));
  }
}
