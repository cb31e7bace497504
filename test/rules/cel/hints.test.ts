import { describe, expect, it } from 'vitest';
import { complaints } from '../support.ts';

const hint = (condition: string): string | undefined => complaints([condition])[0];

describe('a hint', () => {
  it('says what to write instead of what people write', () => {
    const amount = (currency: string) =>
      `write 500, and the condition order.currency == "${currency}"`;
    expect(hint('delivery.amount > 500 DKK')).toContain(amount('DKK'));
    expect(hint('delivery.amount > EUR 500')).toContain(amount('EUR'));
    expect(hint('delivery.amount > 500kr')).toContain(amount('DKK'));
    expect(hint('delivery.amount > €500')).toContain(amount('EUR'));
    expect(hint('delivery.amount > "500 DKK"')).toContain('write the amount as a number');
    expect(hint('delivery.amount > 5.000,00')).toContain('write 5000.00?');
    expect(hint('delivery.amount > 5 000')).toContain('write 5000 without');
    expect(hint('delivery.amount > .5')).toContain('write 0.5?');
    expect(hint('.25 < delivery.amount')).toContain('write 0.25?');
    expect(hint('delivery.amount > -.5')).toContain('write 0.5?');
    expect(hint('delivery.amount > ,5')).toContain('write 0.5?');
    expect(hint('delivery.amount > 5.')).toContain('write 5?');
    expect(hint('delivery.amount > 1_000')).toContain('write 1000 without');
    expect(hint('delivery.amount > 1_000_000.50')).toContain('write 1000000.50 without');
    expect(hint("delivery.amount > 1'000")).toContain('write 1000 without');
    expect(hint('delivery.amount > 1’000’000')).toContain('write 1000000 without');
    expect(hint('order.quantity > +5')).toContain('write 5 without +');
    expect(hint('order.age > 30 days')).toContain('write days(30), or 30 where');
    expect(hint('order.age > 2 weeks')).toContain('write days(14)');
    expect(hint('order.age > 36h')).toContain('write hours(36)');
    expect(hint('order.age > 90 min')).toContain('write minutes(90)');
    expect(hint('order.age > days 30')).toContain('write days(30)?');
    expect(hint('order.age > days("30")')).toContain('takes one whole number - write days(3)');
    expect(hint('order.age > weeks(2)')).toContain('write days(3)');
    expect(hint('order.quantity > 30 days')).toContain('or 30 where the fact counts days');
    expect(hint('order.quantity > days(30)')).toContain('compare what counts days with a number');
    expect(hint('order.quantity > 10 pcs')).toContain('write 10 without pcs');
    expect(hint('order.quantity ≥ 10')).toContain('write >=');
    expect(hint('5 < order.quantity < 10')).toContain('write both comparisons');
    expect(hint('order.quantity between 5 and 10')).toContain('write both comparisons');
    expect(hint('order.quantity * 0.5 > 2')).toContain('multiply both sides: ');
    expect(hint('order.created_at < 2026-01-01')).toContain('write timestamp(');
    expect(hint('order.created_at < 01.01.2026')).toContain('write timestamp(');
    expect(hint('clock.now > 15:00')).toContain('use clock.business_hours');
    expect(hint('order.country in ("NO", "SE")')).toContain('write in ["DK", "SE"]');
    expect(hint(`'!order.country in ["NO"]'`)).toContain('! stands before a text - put brackets');
    const ofNumbers = 'write lists.sizes.exists(size, size == order.quantity)';
    const sizes = complaints(
      ['order.quantity in lists.sizes'],
      'version: 1\nlists: { sizes: [6] }',
    );
    expect(sizes[0]).toContain(ofNumbers);
    expect(hint('delivery.amount in [500, 1000]')).toContain(ofNumbers);
    expect(hint('order.quantity in ["6"]')).toContain('numbers without');
    expect(hint('order.comment contains "x"')).toContain('write order.comment.contains(');
    expect(hint('has order.season')).toContain('write has(order.season)');
    expect(hint('has(customer)')).toContain('asks for one fact of a group - write has(');
    expect(hint('delivery.lines.size > 0')).toContain('write delivery.lines.size()');
    expect(hint('delivery.lines.any(l, true)')).toContain('use exists(');
    expect(hint('delivery.lines.count() > 1')).toContain('use size()');
    expect(hint('startsWith(order.reference, "T")')).toContain('write it behind the fact');
  });

  it('never says another number, currency, date or fact than was written', () => {
    const then = (number: string, currency: string) =>
      `write ${number}, and the condition order.currency == "${currency}"`;
    expect(hint('delivery.amount > 5.000.000 DKK')).toContain(then('5000000', 'DKK'));
    expect(hint('delivery.amount > USD 1,000')).toContain(then('1000', 'USD'));
    expect(hint('delivery.amount > 5.000,50 DKK')).toContain(then('5000.50', 'DKK'));
    expect(hint('delivery.amount > $500')).toContain(then('500', 'USD'));
    expect(hint('delivery.amount > 500 £')).toContain(then('500', 'GBP'));
    expect(hint('delivery.amount > 1,000.50')).toContain('write 1000.50?');
    expect(hint('order.age > 1.5 days')).toContain('write hours(36), or 1.5 where');
    expect(hint('order.age > 1.5 hours')).toContain('write minutes(90)');
    expect(hint('order.quantity > 10 PCS')).toContain('write 10 without PCS');
    expect(hint('order.created_at < 03.02.2026')).toContain('timestamp("2026-02-03T00:00:00Z")');
    expect(hint('order.created_at < 2026-2-3')).toContain('timestamp("2026-02-03T00:00:00Z")');
    expect(hint('order.country not in ["NO"]')).toContain('write !(order.country in ');
    expect(hint('order.country is not "NO"')).toContain('write != instead');
    expect(hint('order.quantity in (1,5)')).toContain('write in [');
    expect(hint('all(delivery.lines, true)')).toContain('delivery.lines.all(line, …)');
    expect(hint('customer.name == "x"')).toContain('known: account_no, blocked');
    // Nobody knows the unit of these numbers, or what follows them.
    for (const rest of ['5k', '2.5 mio', '5 dozen', '50 cent', '5 unless order.preorder', '90 m']) {
      expect(hint(`order.quantity > ${rest}`)).not.toContain('did you mean');
    }
  });

  it('says where a fact is that is asked for elsewhere, and that a text wants quotes', () => {
    expect(hint('country == "NO"')).toContain('did you mean: order.country?');
    expect(hint('customer.balance > 5')).toContain('did you mean: customer.credit.balance?');
    expect(hint('currency == "DKK"')).toContain('order.currency or customer.credit.currency?');
    expect(hint('order.country == NO')).toContain('a text goes in quotes: "NO"');
    expect(hint('order.preorder == True')).toContain('- write true');
    expect(hint('clock.hour > 15')).toContain('known: now, business_hours, weekday');
  });
});
