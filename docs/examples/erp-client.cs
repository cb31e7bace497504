// Microsoft.Data.Sqlite; DefaultTimeout is the busy timeout, in seconds.
using System.Globalization;
using System.Text.Json;
using Microsoft.Data.Sqlite;

using var connection = new SqliteConnection(
    "Data Source=/srv/selvedge/exchange.db;Mode=ReadWrite;Default Timeout=5");
connection.Open();

using (var transaction = connection.BeginTransaction(deferred: false))   // BEGIN IMMEDIATE
{
    using var insert = connection.CreateCommand();
    insert.Transaction = transaction;
    insert.CommandText =
        "INSERT INTO intake(kind, reference, payload) VALUES ('order', $reference, $payload)";
    insert.Parameters.AddWithValue("$reference", order.Number);
    insert.Parameters.AddWithValue("$payload", JsonSerializer.Serialize(new
    {
        lines = order.Lines.Select(line => new
        {
            barcode = line.Barcode,
            quantity = line.Quantity,
            price = line.Price.ToString("0.00", CultureInfo.InvariantCulture),
        }),
    }));
    insert.ExecuteNonQuery();
    transaction.Commit();
}

using var select = connection.CreateCommand();
select.CommandText = """
    SELECT state, final, order_no, problems, next_step
    FROM v_document WHERE kind = 'order' AND reference = $reference
    """;
select.Parameters.AddWithValue("$reference", order.Number);
using var reader = select.ExecuteReader();
if (reader.Read() && reader.GetInt64(1) == 1)
{
    order.State = reader.GetString(0);
    order.RemoteNumber = reader.IsDBNull(2) ? null : reader.GetString(2);
    order.Remark = reader.GetString(3) + " " + reader.GetString(4);
}

// Decisions and holds of packed deliveries. Numbers only grow: the ERP keeps the last one, in the
// transaction in which it takes the rows over, and asks for those behind it.
using var news = connection.CreateCommand();
news.CommandText = """
    SELECT outcome_id, order_delivery_id, order_no, delivery_no, outcome, state, reason, problem
    FROM outcome WHERE outcome_id > $after ORDER BY outcome_id LIMIT 500
    """;
news.Parameters.AddWithValue("$after", erp.LastOutcome);
using var outcomes = news.ExecuteReader();
while (outcomes.Read())
{
    // The id of the service is always there; the numbers that people see may be missing.
    var delivery = erp.Delivery(
        (long)outcomes["order_delivery_id"],
        outcomes["order_no"] as string, outcomes["delivery_no"] as string);
    if (outcomes["state"] as string == "refused")
    {
        delivery.Remark = outcomes["problem"] as string;   // it was not carried out
    }
    else
    {
        delivery.Decision = outcomes["outcome"] as string;   // accept, hold, reject or release
        delivery.Remark = outcomes["reason"] as string;
    }
    erp.LastOutcome = (long)outcomes["outcome_id"];
}
