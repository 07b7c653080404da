import { Command } from 'commander';
import { reasonOption } from '../../cli/options.ts';
import { print } from '../../cli/output.ts';
import type { RunSignal } from '../../runs/signal.ts';
import { inSession } from '../../session/session.ts';

const SIGNALS: Record<RunSignal, [done: string, what: string]> = {
  pause: ['paused', 'change and restart no further VM until `resume`; those that restart already come back'],
  resume: ['resumed', 'go on after a pause'],
  abort: [
    'aborted',
    'change and restart no further VM; it ends once those that restart already are back, and what is changed stays so',
  ],
};

export const transitionSignalCommands = (): Command[] =>
  (Object.keys(SIGNALS) as RunSignal[]).map((signal) => {
    const [done, what] = SIGNALS[signal];
    const command = new Command(signal)
      .description(what)
      .argument('[id]', 'as `list` shows it, or its last part; without, the one that runs');
    if (signal !== 'resume') command.addOption(reasonOption());
    return command.action((id: string | undefined, { reason }: { reason?: string }, command: Command) =>
      inSession(command, async (session) => {
        const { signalTransition, transitionMeant } = await import('../../machine-types/transitions.ts');
        const meant = await transitionMeant(session, id, { orNewest: false });
        await signalTransition(session, meant, signal, reason);
        print(`${meant} ${done}`);
      }),
    );
  });
