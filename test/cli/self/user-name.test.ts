import { expect, it } from 'vitest';
import { userName } from '../../../src/cli/command.ts';

it('of who has a number only, as in a container, is that number', () => {
  const nameless = (): never => {
    throw new Error('uv_os_get_passwd returned ENOENT (no such file or directory)');
  };
  expect(userName(nameless)).toBe(`user ${process.getuid?.()}`);
});
