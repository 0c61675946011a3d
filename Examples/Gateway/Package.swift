// swift-tools-version: 6.1
// SPDX-License-Identifier: MIT

import PackageDescription

// A gateway on Hummingbird that calls its upstream through PulseKit. `./check` runs it between a server and clients in
// Python. Hummingbird needs macOS 14.
let package = Package(
    name: "Gateway",
    platforms: [.macOS(.v14)],
    dependencies: [
        .package(name: "PulseKit", path: "../.."),
        // Without its traits, which bring packages that a gateway does not need.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .executableTarget(
            name: "Gateway",
            dependencies: [
                .product(name: "PulseKit", package: "PulseKit"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ])
    ],
    swiftLanguageModes: [.v6]
)
