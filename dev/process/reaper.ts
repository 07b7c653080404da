import { spawn, type ChildProcess } from 'node:child_process';
import { isAlive, type ProcessIdentity } from './process-identity.ts';

/**
 * Holds the process groups in its arguments from the start, and reads others from its input. The end of input means
 * that the supervisor has ended: the script then sends SIGTERM to the groups and, after two seconds, SIGKILL.
 */
const SCRIPT = `
trap '' INT HUP TERM
held=" $* "
while read -r verb pid; do
  case $verb in
    add) held="$held$pid " ;;
    drop) case $held in *" $pid "*) held="\${held%% $pid *} \${held#* $pid }" ;; esac ;;
  esac
done
for pid in $held; do kill -TERM "-$pid" 2>/dev/null; done
tries=0
while [ $tries -lt 20 ]; do
  left=
  for pid in $held; do kill -0 "-$pid" 2>/dev/null && left=yes; done
  [ -z "$left" ] && exit 0
  sleep 0.1
  tries=$((tries + 1))
done
for pid in $held; do kill -KILL "-$pid" 2>/dev/null; done
`;

/**
 * Ends the processes it holds when this process ends in any way, even by SIGKILL. They must be process group leaders.
 */
export class ProcessReaper {
  readonly #processes = new Map<number, ProcessIdentity>();
  #shell: ChildProcess | undefined;
  #released = false;

  add(child: ProcessIdentity): void {
    this.#processes.set(child.pid, child);
    if (this.#shell === undefined) this.#start();
    else this.#notify('add', child.pid);
  }

  drop(child: ProcessIdentity): void {
    if (this.#processes.delete(child.pid)) this.#notify('drop', child.pid);
  }

  /** Ends the shell, which ends all processes that are still held. */
  release(): void {
    this.#released = true;
    this.#shell?.stdin?.end();
  }

  get pid(): number | undefined {
    return this.#shell?.pid;
  }

  #start(): void {
    const pids = [...this.#processes.values()].filter(isAlive).map(({ pid }) => String(pid));
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'drover-reaper', ...pids], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell = shell;
    shell.on('error', () => {});
    shell.stdin.on('error', () => {});
    shell.once('exit', () => {
      if (!this.#released) this.#start();
    });
    shell.unref();
  }

  #notify(verb: 'add' | 'drop', pid: number): void {
    this.#shell?.stdin?.write(`${verb} ${pid}\n`);
  }
}
