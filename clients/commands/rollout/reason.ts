import { InvalidArgumentError, Option } from 'commander';

/** What a pool's status takes. */
const LONGEST = 1024;

/** `--reason`: people read it in the status, the history and the Web UI. */
export const reasonOption = (): Option =>
  new Option('--reason <words>', 'why, for those who see it').argParser((text) => {
    const words = text.trim();
    if (words.length > 0 && words.length <= LONGEST) return words;
    throw new InvalidArgumentError(`Give 1 to ${LONGEST} characters.`);
  });
