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
