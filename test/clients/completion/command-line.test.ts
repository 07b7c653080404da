import { describe, expect, test } from 'vitest';
import { commandLine } from '../../../clients/completion/command-line.ts';
import { droverProgram } from '../../../clients/program.ts';

const read = (line: string): object => {
  const { command, operands, flag, last, globals } = commandLine(droverProgram(), line.split(' '));
  return { command: command.name(), operands, flag: flag?.long, last, globals };
};
const globals = { cluster: 'default' };

describe('a command line that is being typed', () => {
  test.each([
    ['', { command: 'drover', operands: [], last: '' }],
    ['scale po', { command: 'scale', operands: [], last: 'po' }],
    ['rollout pause pool ', { command: 'pause', operands: ['pool'], last: '' }],
    ['-n prod scale pool ', { command: 'scale', operands: ['pool'], globals: { ...globals, namespace: 'prod' } }],
    ['scale pool --namespace=prod ', { operands: ['pool'], globals: { ...globals, namespace: 'prod' } }],
    ['scale pool web --remove ', { operands: ['pool', 'web'], flag: '--remove' }],
    ['scale pool web --remove web-3 ', { operands: ['pool', 'web'], flag: undefined }],
    ['status pools -o ', { operands: ['pools'], flag: '--output' }],
    // No value of its own follows this flag.
    ['vm restart --dry-run ', { command: 'restart', operands: [], flag: undefined }],
    // A name that is a command's, too.
    ['status pool scale ', { command: 'status', operands: ['pool', 'scale'] }],
    ['--nonsense scale ', { command: 'scale' }],
  ])('is read: %s', (line, expected) => {
    expect(read(line)).toMatchObject(expected);
  });
});
