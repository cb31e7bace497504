import { expect, it, vi } from 'vitest';
import { userName } from '../../../src/cli/command.ts';

vi.mock('node:os', async (original) => ({
  ...(await original<typeof import('node:os')>()),
  userInfo() {
    throw new Error('uv_os_get_passwd returned ENOENT (no such file or directory)');
  },
}));

it('of who has a number only, as in a container, is that number', () => {
  expect(userName()).toBe(`user ${process.getuid?.()}`);
});
