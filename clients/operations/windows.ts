import type { MaintenanceWindow } from '../../api/pool/pool.ts';
import { parseFlag } from '../cli/parse-flag.ts';

/** Returns the windows that `--window` gives. Throws `UsageError` for a window that can't be read, or never opens. */
export async function windowsOf(texts: readonly string[]): Promise<MaintenanceWindow[]> {
  if (texts.length === 0) return [];
  const [{ cronFault, timeZoneFault }, { durationMs }] = await Promise.all([
    import('../../api/lib/cron.ts'),
    import('../../api/lib/duration.ts'),
  ]);
  return texts.map((text) => parseFlag('--window', text, windowOf));

  function windowOf(text: string): MaintenanceWindow {
    const words = text.trim().split(/ +/);
    const [cron, duration, timeZone] = [words.slice(0, 5).join(' '), words[5], words[6]];
    if (duration === undefined || words.length > 7) {
      throw new RangeError(
        `${JSON.stringify(text)} is not a valid window: write the five fields of a cron, a duration and perhaps a time zone, as in "0 2 * * * 4h UTC"`,
      );
    }
    const fault =
      cronFault(cron) ??
      (durationMs(duration) === 0 ? 'it must be greater than 0' : timeZone && timeZoneFault(timeZone));
    if (fault) throw new RangeError(`${JSON.stringify(text)} is not a valid window: ${fault}`);
    return { cron, duration, ...(timeZone === undefined ? {} : { timeZone }) };
  }
}
