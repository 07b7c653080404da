import { Command } from 'commander';
import type { DataFormat } from '../../cli/data.ts';
import { UsageError } from '../../cli/failure.ts';
import { examples, formatOption } from '../../cli/options.ts';
import { parseDuration } from '../../cli/parse-values.ts';
import { note } from '../../cli/print.ts';
import { inSession, type Session } from '../../session/session.ts';

interface StatusOptions {
  watch?: boolean;
  timeout?: number;
  output?: DataFormat;
}

export const rolloutStatusCommand = (): Command =>
  new Command('status')
    .description('show how far rollouts are, why they wait, and what failed')
    .argument('[kind]', 'pool, or pool/NAME', 'pools')
    .argument('[names...]')
    .option(
      '-w, --watch',
      'keep watching until each is over: the exit code is 0 when all are complete, 1 when one failed or was aborted',
    )
    .option('--timeout <duration>', 'how long --watch waits, such as 90s or 5m (default: no limit)', parseDuration)
    .addOption(formatOption(['json', 'yaml']))
    .addHelpText(
      'after',
      examples(
        ['All pools of the namespace, now', 'drover rollout status'],
        ['Wait until the template is everywhere', 'drover rollout status pool web --watch --timeout 30m'],
        ['For a script', 'drover rollout status pool web -o json | jq -r .phase'],
      ),
    )
    .action((word: string, words: string[], options: StatusOptions, command: Command) =>
      inSession(command, (session) => status(session, [word, ...words], options)),
    );

async function status(session: Session, words: string[], { watch, timeout, output }: StatusOptions): Promise<void> {
  if (timeout !== undefined && watch !== true)
    throw new UsageError('--timeout is how long --watch waits: give both, or neither');
  const [{ poolsOf }, { followRollouts, printRollouts }] = await Promise.all([
    import('../../rollout/pools.ts'),
    import('../../rollout/rollout-status.ts'),
  ]);
  const pools = await poolsOf(session, words);
  if (pools.length === 0) return note(`No resources found in ${await session.namespace()} namespace.`);
  const kube = await session.kube();
  if (watch === true) await followRollouts(kube, pools, { output, timeoutMs: timeout });
  else await printRollouts(kube, pools, output);
}
